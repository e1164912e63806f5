import type { Sandbox } from './sandbox.ts'

/** What upstream says of the calls and files it took, and of who asked for which. */

const TIMEOUT_MS = 60_000
const PAGE = 1_000
/** The sandbox forgets requests beyond its last thousand: they are read long before that, as a rule. */
const LOG_EVERY_MS = 250

/** One accepted call (`GET /__sandbox/calls`). */
export interface UpstreamCall {
  readonly id: string
  readonly family: string
  readonly model: string
  readonly client_marker: string | null
  readonly stream: boolean
  readonly success: boolean
  readonly usage: {
    readonly input_tokens: number
    readonly cached_input_tokens: number
    readonly cache_write_5m_tokens: number
    readonly cache_write_1h_tokens: number
    readonly output_tokens: number
    readonly tool_prompt_tokens: number
  }
  readonly tool_calls: Readonly<Record<string, number>>
  readonly finished: boolean
  /** How its exchange ended: `cut` where upstream broke it off. */
  readonly ending: string | null
  readonly bytes_written: number
  readonly accepted_at: string
  /** As its own wire reports it. */
  readonly wire_usage: unknown
  /** Of images. */
  readonly pictures: { readonly count: number; readonly quality?: string } | null
}

interface Logged {
  readonly seq: number
  readonly route: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: unknown
}

export interface Upstream {
  readonly url: string
  /** Every accepted call, oldest first. */
  readonly calls: () => Promise<readonly UpstreamCall[]>
  /** The marker of each request that arrived, by the request id the gateway gave it. */
  readonly markers: () => Promise<ReadonlyMap<string, string>>
  /** How often a file arrived to be kept, by its marker. */
  readonly uploads: () => ReadonlyMap<string, number>
  readonly stop: () => Promise<void>
}

async function get<Body>(url: string): Promise<Body> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${url}`)
  return (await response.json()) as Body
}

/** Follows a sandbox's record. */
export function follow(sandbox: Sandbox): Upstream {
  const markers = new Map<string, string>()
  const uploads = new Map<string, number>()
  let after = 0
  const readLog = async (): Promise<void> => {
    const { items } = await get<{ readonly items: readonly Logged[] }>(
      `${sandbox.url}/__sandbox/log?after=${after}`,
    )
    for (const { seq, route, headers, body } of items) {
      after = seq
      const requestId = headers['x-client-request-id']
      const marker = /\[\[client=([^\]]+)\]\]/.exec(JSON.stringify(body))?.[1]
      if (marker === undefined) continue
      if (requestId !== undefined) markers.set(requestId, marker)
      if (route === 'speech.upload') uploads.set(marker, (uploads.get(marker) ?? 0) + 1)
    }
  }
  let reading: Promise<void> = Promise.resolve()
  const readInTurn = (): Promise<void> => (reading = reading.catch(() => undefined).then(readLog))
  const timer = setInterval(() => void readInTurn().catch(() => undefined), LOG_EVERY_MS)
  return {
    url: sandbox.url,
    calls: async () => {
      const calls: UpstreamCall[] = []
      for (let next: number | null = 0; next !== null;) {
        const page: {
          readonly items: readonly UpstreamCall[]
          readonly next_after: number | null
        } = await get(`${sandbox.url}/__sandbox/calls?after=${next}&limit=${PAGE}`)
        calls.push(...page.items)
        next = page.next_after
      }
      return calls
    },
    markers: async () => {
      await readInTurn()
      return markers
    },
    uploads: () => uploads,
    stop: async () => {
      clearInterval(timer)
      await sandbox.stop()
    },
  }
}
