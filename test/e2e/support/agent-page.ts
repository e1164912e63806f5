import { shell } from '../../cli/support/tollgate.ts'
import { pageText } from '../../helpers/printed-calls.ts'

/** `docs/agents.md` as an agent reads the lines that point it here. */

/** Where an agent sends the requests of its first turn, and with which token, model and headers. */
export interface Pointing {
  readonly address: string
  readonly token: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
}

interface Reader {
  readonly page: string
  /** With the file of tokens that the blocks read. */
  readonly folder: string
  /** The address that stands for the printed one. */
  readonly url: string
  readonly token: string
}

/** The first block of a kind in the section of an agent. */
export function blockOf(page: string, heading: string, kind: string): string {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const [here = ''] = section.split('\n## ')
  const found = new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(here)?.[1]
  if (found === undefined) throw new Error(`${heading} has no block of ${kind}`)
  return found
}

export const readPage = (url: string): string =>
  pageText('docs/agents.md').replaceAll('http://127.0.0.1:8080', url)

/** The variables that a block exports. */
async function exportedBy(block: string, folder: string): Promise<ReadonlyMap<string, string>> {
  const { code, stdout } = await shell(`${block}\nenv`, folder)
  if (code !== 0) throw new Error(stdout)
  const pairs = stdout.split('\n').map((line) => line.split(/=(.*)/s) as [string, string])
  return new Map(pairs)
}

/** A header as a setting names it. */
function headerIn(text: string): Readonly<Record<string, string>> {
  const [name = '', value = ''] = text.split(/: (.*)/s)
  return { [name]: value }
}

const valueIn = (block: string, name: string): string =>
  new RegExp(`^${name}(?: =|:) "?(.*?)"?$`, 'm').exec(block)?.[1] ?? ''

type Read = (reader: Reader) => Promise<Pointing>

/** Reads the settings of each agent, by the name of its fixture, as the agent itself does. */
export const pointings: Readonly<Record<string, Read>> = {
  'claude-code': async ({ page, folder }) => {
    const set = await exportedBy(blockOf(page, 'Claude Code', 'sh'), folder)
    return {
      address: `${set.get('ANTHROPIC_BASE_URL')}/v1/messages?beta=true`,
      token: set.get('ANTHROPIC_AUTH_TOKEN') ?? '',
      model: set.get('ANTHROPIC_MODEL') ?? '',
      headers: {},
    }
  },
  codex: ({ page, token }) => {
    const block = blockOf(page, 'Codex CLI', 'toml')
    if (valueIn(block, 'wire_api') !== 'responses') throw new Error(block)
    const address = `${valueIn(block, 'base_url')}/responses`
    return Promise.resolve({ address, token, model: valueIn(block, 'model'), headers: {} })
  },
  'gemini-cli': async ({ page, folder }) => {
    const set = await exportedBy(blockOf(page, 'Gemini CLI', 'sh'), folder)
    const model = set.get('GEMINI_MODEL') ?? ''
    return {
      address: `${set.get('GOOGLE_GEMINI_BASE_URL')}/v1beta/models/${model}:streamGenerateContent?alt=sse`,
      token: set.get('GEMINI_API_KEY') ?? '',
      model,
      headers: headerIn(set.get('GEMINI_CLI_CUSTOM_HEADERS') ?? ''),
    }
  },
  opencode: ({ page, token }) => {
    const { model, provider } = JSON.parse(blockOf(page, 'opencode', 'json'))
    const [name, own] = String(model).split('/')
    const { options, models } = provider[name ?? '']
    if (models[own ?? ''] === undefined) throw new Error(`${model} is not listed`)
    const address = `${options.baseURL}/chat/completions`
    return Promise.resolve({ address, token, model: own ?? '', headers: {} })
  },
  cline: ({ page, token }) => {
    const block = blockOf(page, 'Cline', 'text')
    return Promise.resolve({
      address: `${valueIn(block, 'Base URL')}/chat/completions`,
      token,
      model: valueIn(block, 'Model ID'),
      headers: headerIn(valueIn(block, 'Custom header')),
    })
  },
  aider: async ({ page, folder }) => {
    const set = await exportedBy(blockOf(page, 'Aider', 'sh'), folder)
    return {
      address: `${set.get('OPENAI_API_BASE')}/chat/completions`,
      token: set.get('OPENAI_API_KEY') ?? '',
      model: set.get('AIDER_MODEL')?.replace('openai/', '') ?? '',
      headers: {},
    }
  },
}
