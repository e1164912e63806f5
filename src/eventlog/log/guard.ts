import { monotonicClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { withTimeout } from '../../kernel/pause.ts'
import { runForAllTokens } from '../../kernel/token-context.ts'
import { logUnavailable } from './errors.ts'
import type { EventLog, EventLogObserver } from './types.ts'

/**
 * Blocks the log while it may not be the one that belongs to the database. Restoring a store from a
 * backup, or replacing it, needs a restart, which drops every subscription: from then on nothing is
 * admitted until the log was compared with the database again. It is also compared at intervals,
 * for processes without a subscription.
 */

/** Between two comparisons of a log that did not drop a subscription. */
const COMPARE_EVERY_MS = 5_000
/** The interval while the log is refused or not yet compared. */
const COMPARE_AGAIN_MS = 100
/** How long a caller waits for a comparison. */
const PATIENCE_MS = 2_500

interface GuardOptions {
  readonly logger: Log
  readonly observer: EventLogObserver
  /** The result of a failed comparison: "is another one: …". Undefined if it proves nothing. */
  readonly refusalOf: (error: unknown) => string | undefined
}

export class LogGuard {
  readonly #options: GuardOptions
  /** Grows with each reason to compare again. */
  #doubts = 0
  #compared = 0
  #refusal: string | undefined
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
        observer.healthChanged?.(healthy && this.#refusal === undefined)
      },
    }
  }

  /** The guarded log while it is open; `compare` throws if it is another log. */
  guard(log: EventLog, compare: () => Promise<unknown>): EventLog {
    this.#compareOnce = () =>
      (this.#comparing ??= runForAllTokens(() => this.#compare(log, compare)).finally(
        () => (this.#comparing = undefined),
      ))
    this.#schedule()
    const admit = async (): Promise<void> => {
      await log.ready()
      await this.#admit()
    }
    /** Most calls find the guard open, and do not wait. */
    const admitted = async <Result>(begin: () => Promise<Result>): Promise<Result> => {
      await admit()
      return begin()
    }
    return {
      ...log,
      append: (...given) =>
        this.#isOpen() ? log.append(...given) : admitted(() => log.append(...given)),
      readStream: (...given) =>
        this.#isOpen() ? log.readStream(...given) : admitted(() => log.readStream(...given)),
      endPosition: () => (this.#isOpen() ? log.endPosition() : admitted(() => log.endPosition())),
      healthy: () => log.healthy() && this.#isOpen(),
      ready: admit,
      denial: () => this.#refusal ?? log.denial(),
    }
  }

  /** Ends the comparisons, before the log is closed. */
  stop(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #isOpen(): boolean {
    return this.#compared === this.#doubts && this.#refusal === undefined
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
    if (this.#refusal !== undefined) throw logUnavailable(`it ${this.#refusal}`)
  }

  /** @throws the failure of the comparison, unless it proves another log */
  async #compare(log: EventLog, compare: () => Promise<unknown>): Promise<void> {
    const doubts = this.#doubts
    const { refusalOf, logger, observer } = this.#options
    const before = this.#refusal
    const found = await compare().then(
      () => undefined,
      (error: unknown) => {
        const refusal = refusalOf(error)
        if (refusal === undefined) throw error
        return refusal
      },
    )
    this.#refusal = found
    this.#compared = doubts
    if (found === undefined && before === undefined) return
    if (found !== undefined && before !== undefined) return
    if (found === undefined) logger.info({}, 'the log again belongs to the database')
    else logger.error({ reason: found }, 'the log does not belong to the database')
    observer.healthChanged?.(log.healthy() && found === undefined)
  }
}
