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
  readonly status: number | null
}

/** A request under way: what is kept until somebody reads the log. */
export interface LogEntry {
  /** The answer's status; null while there is none. */
  status: number | null
}

interface Kept extends LogEntry {
  readonly seq: number
  readonly request: LoggableRequest
}

/** What the log is told of a request. */
export interface LoggableRequest {
  readonly route: string
  readonly method: string
  readonly url: string
  readonly headers: LoggedRequest['headers']
  readonly body: Buffer | null
  readonly atMs: number
}

const MAX_ENTRIES = 1000
const MAX_BODY_BYTES = 65_536
const SECRET_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'x-goog-api-key',
])

/** The last thousand requests, in memory only; rendered when read, for most never are. */
export class RequestLog {
  #entries: Kept[] = []
  #seq = 0

  add(request: LoggableRequest): LogEntry {
    this.#seq += 1
    const { body } = request
    // A slice would keep the whole of a large body alive.
    const kept =
      body !== null && body.length > MAX_BODY_BYTES
        ? { ...request, body: Buffer.from(body.subarray(0, MAX_BODY_BYTES + 1)) }
        : request
    const entry: Kept = { seq: this.#seq, request: kept, status: null }
    this.#entries.push(entry)
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift()
    return entry
  }

  /** Entries after a sequence number, oldest first. */
  list(after: number): readonly LoggedRequest[] {
    return this.#entries.filter((entry) => entry.seq > after).map(rendered)
  }

  reset(): void {
    this.#entries = []
  }
}

function rendered({ seq, request, status }: Kept): LoggedRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.has(name)),
  )
  const { route, method, url, body, atMs } = request
  return { seq, at_ms: atMs, route, method, url, headers, body: readable(body), status }
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
