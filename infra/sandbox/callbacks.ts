import { setMaxListeners } from 'node:events'
import type { Logger } from 'pino'
import { buildConnector, Client } from 'undici'
import type { Clock } from '../../src/kernel/clock.ts'
import { pause } from '../../src/kernel/pause.ts'
import { checkPublicUrl } from '../../src/kernel/public-url.ts'
import { fixedLookup } from '../../src/platform/resolve-host.ts'
import { type CallbackPlan, isTerminal, type Segment, timeline } from './tasks/record.ts'
import type { StoredTask, TaskStore } from './tasks/store.ts'
import type { SandboxOptions } from './options.ts'

/** The answer of a query for a task in a given segment of its life; null: no callback is sent. */
type RenderCallback = (task: StoredTask, segment: Segment) => object | null

/** Headers a family proves its callbacks with. */
type SignCallback = (task: StoredTask, target: URL) => Readonly<Record<string, string>>

/** Deliveries of one task so far. */
export interface CallbackCounts {
  readonly attempts: number
  readonly acknowledged: number
}

interface Watch {
  readonly id: string
  readonly segments: readonly Segment[]
  next: number
  timer: NodeJS.Timeout | null
  held: Segment | null
}

interface Delivery {
  readonly task: StoredTask
  readonly plan: CallbackPlan
  readonly segment: Segment
}

const MAX_CONCURRENT = 64
const MAX_QUEUED = 20_000
const MAX_RETRIES = 3
/** A receiver must give a challenge back within this time. */
const CHALLENGE_TIMEOUT_MS = 3_000
/** No more of a receiver's answer is read. */
const MAX_ANSWER_BYTES = 65_536
const MAX_TIMER_MS = 2_000_000_000
/** An end that was not acknowledged before a restart is delivered again within this time. */
const RESUME_WITHIN_MS = 3_600_000

/** Posts each change of a task to the URL its creator gave. */
export class Callbacks {
  readonly #watches = new Map<string, Watch>()
  readonly #counts = new Map<string, { attempts: number; acknowledged: number }>()
  readonly #renderers = new Map<string, RenderCallback>()
  readonly #signers = new Map<string, SignCallback>()
  readonly #queue: Delivery[] = []
  readonly #abort = new AbortController()
  #active = 0
  readonly #store: TaskStore
  readonly #clock: Clock
  readonly #options: SandboxOptions
  readonly #log: Logger

  constructor(store: TaskStore, clock: Clock, options: SandboxOptions, log: Logger) {
    this.#store = store
    this.#clock = clock
    this.#options = options
    this.#log = log
    // Each delivery that waits to be tried again listens to it.
    setMaxListeners(MAX_CONCURRENT, this.#abort.signal)
  }

  /** Registers how a family's tasks are rendered, and how it signs its callbacks. */
  renderWith(family: string, render: RenderCallback, sign?: SignCallback): void {
    this.#renderers.set(family, render)
    if (sign !== undefined) this.#signers.set(family, sign)
  }

  /**
   * Whether a receiver returns a challenge, which some upstreams require before they accept a task.
   */
  async challenge(url: string, challenge: string): Promise<boolean> {
    try {
      const answer = await this.#send(url, JSON.stringify({ challenge }), {}, CHALLENGE_TIMEOUT_MS)
      if (answer.statusCode !== 200) return false
      return Reflect.get(Object(JSON.parse(answer.text)), 'challenge') === challenge
    } catch {
      return false
    }
  }

  /** Begins to watch a task that was just accepted. */
  watch(task: StoredTask): void {
    const { record } = task
    if (record.plan.callback === null) return
    const segments = timeline(record).filter((segment) => segment.strange === null)
    const distinct = segments.filter((s, i) => i === 0 || s.phase !== segments[i - 1]?.phase)
    this.#start({ id: record.id, segments: distinct, next: 0, timer: null, held: null })
  }

  /** Takes up again what a restart interrupted. */
  resume(): void {
    const nowMs = this.#clock.nowMs()
    for (const task of this.#store.all()) {
      const { record, marks } = task
      if (record.plan.callback === null || marks.endAcknowledged) continue
      if (marks.cancelledAtMs !== null || marks.deletedAtMs !== null) continue
      const segments = timeline(record).filter((segment) => {
        const recent = isTerminal(segment.phase) && segment.atMs > nowMs - RESUME_WITHIN_MS
        return segment.strange === null && (segment.atMs > nowMs || recent)
      })
      this.#start({ id: record.id, segments, next: 0, timer: null, held: null })
    }
  }

  /** Checks again which callbacks are due after the clock was moved. */
  clockMoved(): void {
    for (const watch of this.#watches.values()) this.#arm(watch)
  }

  countsOf(id: string): CallbackCounts {
    return this.#counts.get(id) ?? { attempts: 0, acknowledged: 0 }
  }

  /** Stops watching everything; deliveries under way go on. */
  reset(): void {
    for (const watch of this.#watches.values()) clearTimeout(watch.timer ?? undefined)
    this.#watches.clear()
    this.#counts.clear()
    this.#queue.length = 0
  }

  /** Stops for good. */
  close(): void {
    this.reset()
    this.#abort.abort()
  }

  #start(watch: Watch): void {
    if (watch.segments.length === 0) return
    this.#watches.set(watch.id, watch)
    this.#arm(watch)
  }

  #arm(watch: Watch): void {
    clearTimeout(watch.timer ?? undefined)
    const segment = watch.segments[watch.next]
    if (segment === undefined) {
      this.#watches.delete(watch.id)
      return
    }
    const waitMs = Math.min(Math.max(0, segment.atMs - this.#clock.nowMs()), MAX_TIMER_MS)
    watch.timer = setTimeout(() => this.#due(watch), waitMs)
  }

  #due(watch: Watch): void {
    const task = this.#store.get(watch.id)
    const segment = watch.segments[watch.next]
    const plan = task?.record.plan.callback ?? null
    const over = task?.marks.cancelledAtMs != null || task?.marks.deletedAtMs != null
    if (task === null || plan === null || segment === undefined || over) {
      this.#watches.delete(watch.id)
      return
    }
    // A timer may fire a little early; the clock decides.
    if (segment.atMs > this.#clock.nowMs()) return this.#arm(watch)
    watch.next += 1
    if (plan.reorder && segment.phase === 'running') watch.held = segment
    else this.#enqueue({ task, plan, segment })
    if (isTerminal(segment.phase) && watch.held !== null) {
      this.#enqueue({ task, plan, segment: watch.held })
    }
    this.#arm(watch)
  }

  #enqueue(delivery: Delivery): void {
    for (let copy = 0; copy < delivery.plan.copies; copy += 1) {
      if (this.#queue.length >= MAX_QUEUED) {
        this.#log.warn({ id: delivery.task.record.id }, 'callback queue is full, dropped')
        return
      }
      this.#queue.push(delivery)
    }
    this.#pump()
  }

  #pump(): void {
    while (this.#active < MAX_CONCURRENT) {
      const delivery = this.#queue.shift()
      if (delivery === undefined) return
      this.#active += 1
      void this.#deliver(delivery)
        .catch((err: unknown) => this.#log.error({ err }, 'callback failed'))
        .finally(() => {
          this.#active -= 1
          this.#pump()
        })
    }
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { record } = delivery.task
    const render = this.#renderers.get(record.family)
    if (render === undefined) return
    const { phase } = delivery.segment
    const payload = render(this.#store.get(record.id) ?? delivery.task, delivery.segment)
    if (payload === null) return
    const body = JSON.stringify(payload)
    const retries = phase === 'succeeded' || phase === 'failed' ? MAX_RETRIES : 0
    for (let attempt = 0; attempt <= retries; attempt += 1) {
      if (this.#abort.signal.aborted) return
      if (attempt > 0) await this.#pauseBefore(attempt)
      if (await this.#post(delivery, body)) {
        if (isTerminal(phase)) await this.#store.mark(record.id, { endAcknowledged: true })
        return
      }
    }
  }

  async #pauseBefore(attempt: number): Promise<void> {
    await pause(1000 * this.#options.timeScale * 2 ** (attempt - 1), this.#abort.signal)
  }

  /** Whether the receiver acknowledged with a 2xx in time. */
  async #post({ task, plan: { url } }: Delivery, body: string): Promise<boolean> {
    const { id, family } = task.record
    const counts = this.#counts.get(id) ?? { attempts: 0, acknowledged: 0 }
    this.#counts.set(id, counts)
    counts.attempts += 1
    try {
      const headers = this.#signers.get(family)?.(task, new URL(url)) ?? {}
      const { statusCode } = await this.#send(url, body, headers, this.#options.callbackTimeoutMs)
      const acknowledged = statusCode >= 200 && statusCode < 300
      if (acknowledged) counts.acknowledged += 1
      return acknowledged
    } catch (error) {
      this.#log.debug({ id, reason: error instanceof Error ? error.name : 'unknown' }, 'callback')
      return false
    }
  }

  /**
   * Posts to a receiver and reads what it answers, up to a bound. It connects to the very addresses
   * that were checked: a name that resolved outside when the task was accepted may resolve inside now.
   */
  async #send(
    text: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<{ readonly statusCode: number; readonly text: string }> {
    const { target, host, addresses } = await this.#target(text)
    const lookup = addresses && { lookup: fixedLookup(addresses), autoSelectFamily: true }
    const client = new Client(target.origin, { connect: buildConnector({ ...lookup }) })
    try {
      const answer = await client.request({
        method: 'POST',
        path: `${target.pathname}${target.search}`,
        headers: { 'content-type': 'application/json', host, ...headers },
        body,
        signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#abort.signal]),
      })
      const pieces: Buffer[] = []
      let sizeBytes = 0
      for await (const piece of answer.body as AsyncIterable<Buffer>) {
        pieces.push(piece)
        sizeBytes += piece.length
        if (sizeBytes > MAX_ANSWER_BYTES) break
      }
      return { statusCode: answer.statusCode, text: Buffer.concat(pieces).toString() }
    } finally {
      await client.destroy()
    }
  }

  /** Where a callback goes: to the origin of an option, unchecked, or to public addresses only. */
  async #target(text: string): Promise<{
    readonly target: URL
    readonly host: string
    readonly addresses?: readonly string[]
  }> {
    const url = new URL(text)
    const mapped = this.#options.callbackMap.get(url.hostname.toLowerCase())
    if (mapped !== undefined)
      return { target: new URL(`${mapped}${url.pathname}${url.search}`), host: url.host }
    const verdict = await checkPublicUrl(text, this.#options.resolveHost, { use: 'fetch' })
    if (!verdict.ok) throw new Error(`a callback URL ${verdict.reason}`)
    return { target: new URL(verdict.url), host: url.host, addresses: verdict.addresses }
  }
}
