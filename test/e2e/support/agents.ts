import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { checkout } from '../../helpers/checkout.ts'
import type { Turn } from './agent-turns.ts'

type Members = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

/** One request of an agent, and the answer that it counts on. */
export interface AgentStep {
  readonly does: string
  /** By which later steps refer to its answer. */
  readonly name?: string
  readonly method?: string
  readonly path: string
  readonly key?: string
  readonly headers?: Headers
  readonly body?: Members
  /** Whether the agent hangs up once the answer has begun. */
  readonly leaves?: boolean
  readonly answers: {
    readonly status: number
    /** Words of a refusal. */
    readonly says?: string
    /** Why the model stopped, or the type of the last item. */
    readonly ends?: string
    /** The member of an answer that counts tokens: it is free. */
    readonly counts?: string
    /** SKUs in addition to those of tokens. */
    readonly bills?: readonly string[]
  }
}

/** The requests of one agent, as `test/fixtures/agents/README.md` says. */
export interface Agent {
  readonly agent: string
  /** The header of its token. */
  readonly key: string
  /** The header in which it names its session by itself; absent: none. */
  readonly session?: string
  readonly headers: Headers
  /** Members of every body, by path without its query; null leaves one out. */
  readonly usual: Readonly<Record<string, Members>>
  readonly steps: readonly AgentStep[]
}

/** Every agent of the fixtures, by the name of its file. */
export function readAgents(): ReadonlyMap<string, Agent> {
  const folder = new URL('test/fixtures/agents/', checkout)
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return new Map(
    names.map((name) => [
      name.slice(0, -'.json'.length),
      JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Agent,
    ]),
  )
}

/** A value with the answers of earlier steps in place of `<turn …>` and `<tool …>`. */
function filled(value: unknown, turns: ReadonlyMap<string, Turn>): unknown {
  if (Array.isArray(value))
    return (value as readonly unknown[]).flatMap((one) => {
      const [, name] = typeof one === 'string' ? (/^<turn (\w+)>$/.exec(one) ?? []) : []
      return name === undefined ? [filled(one, turns)] : (turns.get(name)?.said ?? [])
    })
  if (typeof value === 'string') {
    const [, name] = /^<tool (\w+)>$/.exec(value) ?? []
    return name === undefined ? value : turns.get(name)?.tool
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, turns)]))
}

/** Headers and body of a step. */
export function requestOf(
  agent: Agent,
  step: AgentStep,
  { token, session, turns }: Filling,
): { readonly headers: Headers; readonly body: string | undefined } {
  const key = step.key ?? agent.key
  const named = agent.session === undefined ? {} : { [agent.session]: session }
  const headers = {
    [key]: key === 'authorization' ? `Bearer ${token}` : token,
    ...named,
    ...agent.headers,
    ...step.headers,
  }
  const written = Object.fromEntries(
    Object.entries(headers).map(([name, text]) => [name, text.replace('<session>', session)]),
  )
  if (step.body === undefined) return { headers: written, body: undefined }
  const members = { ...agent.usual[step.path.replace(/\?.*/, '')], ...step.body }
  const given = Object.entries(members).filter(([, value]) => value !== null)
  return {
    headers: { 'content-type': 'application/json', ...written },
    body: JSON.stringify(filled(Object.fromEntries(given), turns)),
  }
}

interface Filling {
  readonly token: string
  readonly session: string
  readonly turns: ReadonlyMap<string, Turn>
}

/** A request as the provider received it. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Recorder {
  readonly received: readonly Received[]
  /** The channels by way of the recorder. */
  readonly through: (channels: readonly Channel[]) => readonly Channel[]
  readonly close: () => Promise<void>
}

/** A server before the simulated provider that passes everything on and keeps what came. */
export async function startRecorder(): Promise<Recorder> {
  const received: Received[] = []
  let target = ''
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { url: path = '', method, headers } = request
      const bytes = Buffer.concat(chunks)
      received.push({ path, headers, text: bytes.toString() })
      const onward = httpRequest(`${target}${path}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      response.on('close', () => onward.destroy())
      onward.end(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    received,
    through: (channels) =>
      channels.map((channel) => {
        const { origin, pathname } = new URL(channel.baseUrl)
        target = origin
        return { ...channel, baseUrl: `http://127.0.0.1:${port}${pathname}` }
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
