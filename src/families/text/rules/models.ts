import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'

/**
 * Text models are configuration, not a list in code: channels name them, the price book prices them.
 */

/** The three upstream wires of text. */
export type TextFamily = 'chat' | 'responses' | 'native'
export const textFamilies: readonly TextFamily[] = ['chat', 'responses', 'native']

/** Whether a channel family is one of text. */
export function isTextFamily(family: string): family is TextFamily {
  return (textFamilies as readonly string[]).includes(family)
}

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether a name may be the external name of a text model: it becomes part of SKUs and of paths. */
export function isTextModelName(name: string): boolean {
  return MODEL_NAME.test(name)
}

/** Tools a provider runs itself and charges by count. */
export const meteredTools = ['web-search', 'code-interpreter', 'file-search'] as const
export type MeteredTool = (typeof meteredTools)[number]

/** What a tool costs beside tokens: nothing, a count that is metered, or something that is not. */
export type ToolCharge = MeteredTool | 'tokens' | 'unmetered'

/**
 * Tool names with what they cost, an asterisk standing for any beginning or end; the first that fits
 * counts, `unmetered` if none does.
 */
type Charges = readonly (readonly [name: string, charge: ToolCharge])[]

function free(...names: readonly string[]): Charges {
  return names.map((name) => [name, 'tokens'])
}

/** Types by how they begin, where versions follow, as in `web_search_preview_…`. */
const CHARGES: Readonly<Record<TextFamily, Charges>> = {
  chat: [...free('function', 'custom'), ['web_search*', 'web-search']],
  responses: [
    ...free('function', 'custom', 'mcp', 'local_shell', 'apply_patch', 'tool_search', 'namespace'),
    ['computer*', 'tokens'],
    ['web_search*', 'web-search'],
    ['code_interpreter*', 'code-interpreter'],
    ['file_search*', 'file-search'],
  ],
  // Here a tool is named by its member: `…Search` with nothing but settings in it. Looking at given
  // addresses and running code cost tokens alone; maps are charged for by call.
  native: [
    ...free('functionDeclarations', 'codeExecution', 'urlContext', 'computerUse', 'mcpServers'),
    // Searches stores of the account, and none of them can be a caller's.
    ['file*', 'unmetered'],
    ['*Search', 'web-search'],
    ['*SearchRetrieval', 'web-search'],
  ],
}

/** A tool of a request: the member that names it, and what it costs. */
export interface ChargedTool {
  readonly member: string
  readonly charge: ToolCharge
}

function chargeOf(family: TextFamily, name: string): ToolCharge {
  return CHARGES[family].find(([pattern]) => fits(pattern, name))?.[1] ?? 'unmetered'
}

function fits(pattern: string, name: string): boolean {
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1))
  if (!pattern.endsWith('*')) return name === pattern
  return name.toLowerCase().startsWith(pattern.slice(0, -1))
}

/** The tools a wire takes, as its requests name them. */
export function offeredToolNames(family: TextFamily): readonly string[] {
  const named = CHARGES[family].flatMap(([name, charge]) => (charge === 'unmetered' ? [] : [name]))
  return family === 'responses' ? [...named, 'shell in a local environment'] : named
}

/** What one entry of `tools` costs; on the native wire it may name several tools, in camel case. */
export function toolCharges(family: TextFamily, tool: JsonObject): readonly ChargedTool[] {
  if (family === 'native')
    return Object.entries(tool)
      .filter(([, settings]) => settings !== null)
      .map(([member]) => ({ member, charge: chargeOf(family, member) }))
  const type = typeof tool['type'] === 'string' ? tool['type'] : ''
  // A shell of the caller's own costs nothing; one in a container upstream costs by container.
  const isLocalShell =
    family === 'responses' &&
    type === 'shell' &&
    isJsonObject(tool['environment']) &&
    tool['environment']['type'] === 'local'
  return [{ member: 'type', charge: isLocalShell ? 'tokens' : chargeOf(family, type) }]
}

/** The metered tools a request offers: what its settlement may have to price. */
export function offeredTools(family: TextFamily, body: JsonObject): readonly MeteredTool[] {
  const offered = new Set<MeteredTool>()
  // The chat wire asks for a search in a member of its own; given at all, it is asked for.
  if (family === 'chat' && isJsonObject(body['web_search_options'])) offered.add('web-search')
  const { tools } = body
  if (!Array.isArray(tools)) return [...offered]
  for (const tool of (tools as readonly unknown[]).filter(isJsonObject))
    for (const { charge } of toolCharges(family, tool))
      if (charge !== 'tokens' && charge !== 'unmetered') offered.add(charge)
  return [...offered]
}

/** The stores of an account a responses request searches, and where the first are named. */
export function vectorStoresOf(
  body: JsonObject,
): { readonly ids: readonly string[]; readonly path: string } | undefined {
  const { tools } = body
  if (!Array.isArray(tools)) return undefined
  const ids: string[] = []
  let path: string | undefined
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    const named = isJsonObject(tool) ? tool['vector_store_ids'] : undefined
    if (!Array.isArray(named) || named.length === 0) continue
    path ??= `tools[${index}].vector_store_ids`
    ids.push(...named.map(String))
  }
  return path === undefined ? undefined : { ids, path }
}
