import { monotonicClock } from '../../../src/kernel/clock.ts'
import { parseExactly } from '../../../src/kernel/exact-integers.ts'

class Tally {
  count = 0
  inFlight = 0
  maxInFlight = 0
  maxPerSecond = 0
  readonly byStatus = new Map<string, number>()
  #second = 0
  #inSecond = 0

  enter(): void {
    this.count += 1
    this.inFlight += 1
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight)
    const second = Math.floor(monotonicClock.nowMs() / 1000)
    this.#inSecond = second === this.#second ? this.#inSecond + 1 : 1
    this.#second = second
    this.maxPerSecond = Math.max(this.maxPerSecond, this.#inSecond)
  }

  leave(status: string): void {
    this.inFlight -= 1
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1)
  }

  /** Since the start or the last reset. */
  view() {
    return {
      count: this.count,
      in_flight: this.inFlight,
      max_in_flight: this.maxInFlight,
      /** Most requests that began within one second of the machine's clock. */
      max_per_second: this.maxPerSecond,
      /** Answers by status; `none` counts exchanges that ended without one. */
      by_status: Object.fromEntries(this.byStatus),
    }
  }
}

/** Request counts by route (`<family>.<op>`) and in all, control routes left out. */
export class RequestCounters {
  #all = new Tally()
  #routes = new Map<string, Tally>()

  /** Counts a request in; call the result once with its status, or null when it got no answer. */
  enter(route: string): (status: number | null) => void {
    const all = this.#all
    const tally = this.#routes.get(route) ?? new Tally()
    this.#routes.set(route, tally)
    all.enter()
    tally.enter()
    return (status) => {
      const key = status === null ? 'none' : String(status)
      all.leave(key)
      tally.leave(key)
    }
  }

  view() {
    const routes = [...this.#routes].map(([name, tally]) => [name, tally.view()] as const)
    return { all: this.#all.view(), routes: Object.fromEntries(routes) }
  }

  reset(): void {
    this.#all = new Tally()
    this.#routes = new Map()
  }
}

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

/** A request under way: what is kept until a test reads the log. */
interface LogEntry {
  /** The answer's status; null while there is none. */
  status: number | null
}

interface StoredEntry extends LogEntry {
  readonly seq: number
  readonly request: LoggableRequest
}

/** What the log needs of a request. */
interface LoggableRequest {
  readonly route: string
  readonly method: string
  readonly url: string
  readonly headers: LoggedRequest['headers']
  readonly body: Buffer | null
  readonly atMs: number
}

const MAX_ENTRIES = 1000
const MAX_BODY_BYTES = 65_536
const SECRET_HEADERS = 'authorization proxy-authorization cookie x-api-key x-goog-api-key'.split(
  ' ',
)

/** The last thousand requests, in memory only; rendered when read, for most never are. */
export class RequestLog {
  #entries: StoredEntry[] = []
  #seq = 0

  add(request: LoggableRequest): LogEntry {
    this.#seq += 1
    const { body } = request
    // A slice would keep the whole of a large body alive.
    const kept =
      body !== null && body.length > MAX_BODY_BYTES
        ? { ...request, body: Buffer.from(body.subarray(0, MAX_BODY_BYTES + 1)) }
        : request
    const entry: StoredEntry = { seq: this.#seq, request: kept, status: null }
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

function rendered({ seq, request, status }: StoredEntry): LoggedRequest {
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !SECRET_HEADERS.includes(name)),
  )
  const { route, method, url, body, atMs } = request
  return { seq, at_ms: atMs, route, method, url, headers, body: readable(body), status }
}

function readable(body: Buffer | null): unknown {
  if (body === null || body.length === 0) return null
  const text = body.subarray(0, MAX_BODY_BYTES).toString('utf8')
  if (body.length > MAX_BODY_BYTES) return text
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}
