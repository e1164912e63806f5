import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { createRetryLog, type RetryLog } from '../../kernel/retry-log.ts'
import type { ProviderError } from '../ports/provider.ts'

/**
 * Channels that refused the gateway itself: its key, its contract, its balance, or a model that the
 * account does not have. Callers are served by another channel, or get 503; the operator alone can
 * mend it, and sees it in the log and in `degraded`.
 */

/** A refusal without a success since is shown for this long. */
const SHOWN_FOR_MS = 600_000

interface Refusal {
  readonly status: number | undefined
  readonly atMs: number
  readonly log: RetryLog
}

export class AccountRefusals {
  readonly #clock: Clock
  readonly #logger: Pick<Log, 'warn'>
  /** By channel and model; both come from the channel file. */
  readonly #refusals = new Map<string, Refusal>()

  /** @param clock for durations only */
  constructor(clock: Clock, logger: Pick<Log, 'warn'>) {
    this.#clock = clock
    this.#logger = logger
  }

  /** A channel refused the gateway's account for a model. */
  refused(channelId: string, model: string | undefined, { status, code }: ProviderError): void {
    const key = keyOf(channelId, model)
    const log = this.#refusals.get(key)?.log ?? createRetryLog(this.#logger)
    this.#refusals.set(key, { status, atMs: this.#clock.nowMs(), log })
    log.failed(
      { channelId, model, status, upstreamCode: code },
      'a channel refused the key, the model or the account of the gateway',
    )
  }

  /** A channel answered a call of a model. */
  worked(channelId: string, model: string | undefined): void {
    if (this.#refusals.size > 0) this.#refusals.delete(keyOf(channelId, model))
  }

  /** What is refused now, in words for operators. */
  shown(): readonly string[] {
    const sinceMs = this.#clock.nowMs() - SHOWN_FOR_MS
    return [...this.#refusals]
      .filter(([, { atMs }]) => atMs >= sinceMs)
      .map(
        ([key, { status }]) =>
          `${key} is refused${status === undefined ? '' : ` with ${status}`}: check its credential, its balance and the model's name upstream`,
      )
  }
}

function keyOf(channelId: string, model: string | undefined): string {
  return model === undefined ? channelId : `${channelId} (${model})`
}
