import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import { withTimeout } from '../../kernel/pause.ts'
import { runForAll } from '../../platform/sharer-context.ts'
import { logUnavailable } from './errors.ts'
import type { EventLog, EventLogObserver, SubscriptionMessage } from './types.ts'

/**
 * Blocks the log while it may not be the one that belongs to the database. Restoring a store from a
 * backup, or replacing it, needs a restart, which drops every subscription: from then on nothing is
 * admitted until the log was compared with the database again. It is also compared at intervals,
 * for processes without a subscription.
 *
 * A process remembers what it has read: accounts, tokens, tasks, balances, places in the log. Where
 * the log went back, that may be in no log any more, while the streams grow to their old lengths. So
 * the log is also compared with the newest event that the process knows, and a process whose log was
 * another one for a while never goes on: it has to start again.
 */

/** Between two comparisons of a log that did not drop a subscription. */
const COMPARE_EVERY_MS = 5_000
/** The interval while the log is refused or not yet compared. */
const COMPARE_AGAIN_MS = 100
/** How long a caller waits for a comparison. */
const PATIENCE_MS = 2_500
/** A node that was cut off may show less of the log until it notices: it is believed after this. */
const PROVEN_AFTER_MS = 2_000

interface GuardOptions {
  readonly logger: Log
  readonly observer: EventLogObserver
  /** The result of a failed comparison: "is another one: …". Undefined if it proves nothing. */
  readonly refusalOf: (error: unknown) => string | undefined
  /** Called once, with the reason, when what this process remembers may be in no log any more. */
  readonly startAgain: (reason: string) => void
  /** Clock that measures how long the log is refused; the monotonic clock by default. */
  readonly clock?: Clock
}

/** Place in the log of an event that the process knows. */
interface GuardedPlace {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly position: bigint
}

type Refused = { readonly reason: string; readonly sinceMs: number; readonly isProven: boolean }

export class LogGuard {
  readonly #options: GuardOptions
  /** Grows with each reason to compare again. */
  #doubts = 0
  #compared = 0
  #refused: Refused | undefined
  #newest: GuardedPlace | undefined
  #comparing: Promise<void> | undefined
  #compareOnce: (() => Promise<void>) | undefined
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: GuardOptions) {
    this.#options = options
  }

  /** The observer of the guarded log; it passes events on to the given one. */
  get observer(): EventLogObserver {
    const { observer } = this.#options
    return {
      ...observer,
      subscription: (change) => {
        if (change.kind === 'dropped') this.#doubt()
        observer.subscription?.(change)
      },
      healthChanged: (healthy) => {
        this.#doubt()
        observer.healthChanged?.(healthy && this.#refused === undefined)
      },
    }
  }

  /** The guarded log while it is open; `compare` throws if it is another log. */
  guard(log: EventLog, compare: () => Promise<unknown>): EventLog {
    this.#compareOnce = () =>
      (this.#comparing ??= runForAll(() => this.#compare(log, compare)).finally(
        () => (this.#comparing = undefined),
      ))
    this.#schedule()
    const admit = async (): Promise<void> => {
      await log.ready()
      await this.#admit()
    }
    return {
      ...log,
      append: async (stream, events, ...rest) => {
        // Most calls find the guard open, and do not wait.
        if (!this.#isOpen()) await admit()
        const appended = await log.append(stream, events, ...rest)
        const { revision, position } = appended
        const id = events.at(-1)?.id
        if (id !== undefined && position !== undefined)
          this.#remember({ id, stream, revision, position })
        return appended
      },
      readStream: async (...given) => {
        if (!this.#isOpen()) await admit()
        const events = await log.readStream(...given)
        this.#remember(events.at(-1))
        return events
      },
      endPosition: async () => {
        if (!this.#isOpen()) await admit()
        return log.endPosition()
      },
      subscribe: (subscribed) => this.#remembering(log.subscribe(subscribed)),
      healthy: () => log.healthy() && this.#isOpen(),
      ready: admit,
      denial: () => this.#refused?.reason ?? log.denial(),
    }
  }

  /** Ends the comparisons, before the log is closed. */
  stop(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #isOpen(): boolean {
    return this.#compared === this.#doubts && this.#refused === undefined
  }

  #remember(place: GuardedPlace | undefined): void {
    if (place === undefined || place.position <= (this.#newest?.position ?? -1n)) return
    const { id, stream, revision, position } = place
    this.#newest = { id, stream, revision, position }
  }

  async *#remembering(
    messages: ReturnType<EventLog['subscribe']>,
  ): AsyncGenerator<SubscriptionMessage, void> {
    for await (const message of messages) {
      if (message.kind === 'event') this.#remember(message.event)
      yield message
    }
  }

  #doubt(): void {
    this.#doubts += 1
    this.#schedule()
  }

  /** The next comparison, if no caller asks for one before. */
  #schedule(): void {
    clearTimeout(this.#timer)
    if (this.#closed || this.#compareOnce === undefined) return
    const again = (): void => this.#schedule()
    this.#timer = setTimeout(
      () => void this.#compareOnce?.().then(again, again),
      this.#isOpen() ? COMPARE_EVERY_MS : COMPARE_AGAIN_MS,
    ).unref()
  }

  /** @throws `log_unavailable` */
  async #admit(): Promise<void> {
    const untilMs = monotonicClock.nowMs() + PATIENCE_MS
    while (this.#compared !== this.#doubts) {
      const compared = this.#compareOnce?.().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        throw logUnavailable(`it could not be compared with the database: ${reason}`)
      })
      await withTimeout(untilMs - monotonicClock.nowMs(), Promise.resolve(compared), () => {
        throw logUnavailable('it could not be compared with the database in time')
      })
    }
    if (this.#refused !== undefined) throw logUnavailable(`it ${this.#refused.reason}`)
  }

  /** @throws the failure of the comparison, unless it proves another log */
  async #compare(log: EventLog, compare: () => Promise<unknown>): Promise<void> {
    const doubts = this.#doubts
    const before = this.#refused
    const { refusalOf } = this.#options
    const another = await compare().then(
      () => undefined,
      (error: unknown) => {
        const refusal = refusalOf(error)
        if (refusal === undefined) throw error
        return refusal
      },
    )
    const lacking = another ?? (await this.#lackingIn(log))
    this.#compared = doubts
    if (lacking !== undefined) this.#refuse(lacking)
    // A new process starts only on a log that belongs to the database.
    if (another === undefined && this.#refused?.isProven === true) this.#end()
    else if (lacking === undefined) this.#refused = undefined
    if ((before === undefined) === (this.#refused === undefined)) return
    const { logger, observer } = this.#options
    if (lacking === undefined) logger.info({}, 'the log again belongs to the database')
    else logger.error({ reason: lacking }, 'the log does not belong to the database')
    observer.healthChanged?.(log.healthy() && lacking === undefined)
  }

  /** Describes the newest known event if the log does not hold it; undefined if the log does. */
  async #lackingIn(log: EventLog): Promise<string | undefined> {
    const known = this.#newest
    if (known === undefined) return undefined
    const { id, stream, revision } = known
    try {
      const [held] = await log.readStream(stream, { from: revision, limit: 1 })
      if (held?.id === id) return undefined
    } catch (error) {
      // A newer program wrote what is there.
      if (!isDomainError(error, 'event_invalid')) throw error
      return undefined
    }
    return `went back: it does not hold event ${id} (revision ${revision} of ${stream}), which this process knows`
  }

  #refuse(reason: string): void {
    const nowMs = (this.#options.clock ?? monotonicClock).nowMs()
    const sinceMs = this.#refused?.sinceMs ?? nowMs
    const isProven = this.#refused?.isProven === true || nowMs - sinceMs >= PROVEN_AFTER_MS
    this.#refused = { reason, sinceMs, isProven }
  }

  #end(): void {
    if (this.#closed) return
    this.stop()
    this.#options.startAgain(
      'the log was another one for a while: what this process remembers of it may be in no log any more',
    )
  }
}
