/** One request as it arrived, for assertions of tests. Credentials are left out. */
export interface LoggedRequest {
  readonly seq: number
  readonly at_ms: number
  readonly route: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Parsed JSON, else the text, cut at 64 KiB. */
  readonly body: unknown
  /** The answer's status; null while there is none. */
  status: number | null
}

const MAX_ENTRIES = 1000
const MAX_BODY_BYTES = 65_536
const SECRET_HEADERS = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key'])

/** The last thousand requests, in memory only. */
export class RequestLog {
  #entries: LoggedRequest[] = []
  #seq = 0

  add(entry: {
    readonly route: string
    readonly method: string
    readonly url: string
    readonly headers: LoggedRequest['headers']
    readonly body: Buffer | null
    readonly atMs: number
  }): LoggedRequest {
    this.#seq += 1
    const headers = Object.fromEntries(
      Object.entries(entry.headers).filter(([name]) => !SECRET_HEADERS.has(name)),
    )
    const logged: LoggedRequest = {
      seq: this.#seq,
      at_ms: entry.atMs,
      route: entry.route,
      method: entry.method,
      url: entry.url,
      headers,
      body: readable(entry.body),
      status: null,
    }
    this.#entries.push(logged)
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    return logged
  }

  /** Entries after a sequence number, oldest first. */
  list(after: number): readonly LoggedRequest[] {
    return this.#entries.filter((entry) => entry.seq > after)
  }

  reset(): void {
    this.#entries = []
  }
}

function readable(body: Buffer | null): unknown {
  if (body === null || body.length === 0) return null
  const text = body.subarray(0, MAX_BODY_BYTES).toString('utf8')
  if (body.length > MAX_BODY_BYTES) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
