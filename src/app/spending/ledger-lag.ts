import type { Pool } from 'pg'
import { runForAll } from '../../platform/sharer-context.ts'
import { readCheckpoints } from '../../../projections/engine/checkpoint.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { pause, withTimeout } from '../../kernel/pause.ts'
import type { LedgerFloor } from './ledger-floor.ts'
import { MAX_LAG_MS, RECHECK_AFTER_MS } from './bounds.ts'

/**
 * The read models that decide whether a request is admitted: balances, prices and tokens. Their lag
 * is measured against the log, because the time at which a row was read does not show what a
 * stopped projector has not written.
 */
const DECIDING = ['ledger', 'prices', 'access']

/** Positions of the log's end remembered that the ledger has not reached. */
const MAX_REMEMBERED = 64
/** At startup the process waits at most this long for a complete ledger, and looks this often. */
const FIRST_SIGHT_MS = 5_000
const FIRST_LOOK_MS = 50

/** Lag of the read models that admit requests behind the log, in time. */
export interface LedgerLag {
  /**
   * Time for which one of them may have lacked events; infinite until all were once seen complete.
   */
  readonly lagMs: () => number
  /** Compares them with the log. Concurrent callers share one comparison. */
  readonly look: () => Promise<void>
}

/**
 * Remembers where the log ended and when. The read models have everything from before the last of
 * these positions that they have passed. A log or a database that does not answer counts as lag.
 */
export function createLedgerLag(deps: {
  readonly logEnd: () => Promise<bigint | undefined>
  /** The position that all of the read models have reached. */
  readonly reachedPosition: () => Promise<bigint>
  readonly clock: Clock
}): LedgerLag {
  const { logEnd, reachedPosition, clock } = deps
  let completeAtMs = Number.NEGATIVE_INFINITY
  let ends: readonly { readonly position: bigint; readonly atMs: number }[] = []
  let looking: Promise<void> | undefined

  const look = async (): Promise<void> => {
    const atMs = clock.nowMs()
    const position = (await logEnd()) ?? -1n
    const reached = await reachedPosition()
    // The read models reach the first positions first; of the others the latest is enough.
    ends = [...ends.slice(0, MAX_REMEMBERED - 1), { position, atMs }]
    for (const end of ends)
      if (end.position <= reached) completeAtMs = Math.max(completeAtMs, end.atMs)
    ends = ends.filter((end) => end.position > reached)
  }
  return {
    lagMs: () => clock.nowMs() - completeAtMs,
    look: () => (looking ??= runForAll(look).finally(() => (looking = undefined))),
  }
}

/** The lag of the read models behind the log. Each look also detects a ledger that went back. */
export function watchLedger(
  pool: Pool,
  log: Pick<EventLog, 'endPosition'>,
  floor?: LedgerFloor,
): LedgerLag {
  return createLedgerLag({
    logEnd: () => log.endPosition(),
    reachedPosition: async () => {
      const sent = floor?.mark()
      const checkpoints = await readCheckpoints(pool)
      const positions = DECIDING.map((name) => checkpoints.get(name)?.position ?? -1n)
      const [ledger = -1n] = positions
      if (sent !== undefined) floor?.allows(ledger, sent)
      return positions.reduce((least, position) => (position < least ? position : least), ledger)
    },
    clock: monotonicClock,
  })
}

/** A call or a task that would be refused for the lag waits at most this long for a new look. */
const LOOK_WAIT_MS = 1_000

/** Refuses requests while the read models that admit them are too far behind the log. */
export interface Freshness extends LedgerLag {
  /** @throws DomainError `read_model_behind` */
  readonly refuseBehind: () => Promise<void>
}

/** @param clock only durations are measured with it, so it must be monotonic */
export function createFreshness(lag: LedgerLag, clock: Clock): Freshness {
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const look = (): Promise<void> => {
    lookedAtMs = clock.nowMs()
    return lag.look()
  }
  return {
    lagMs: lag.lagMs,
    look,
    refuseBehind: async () => {
      const untilMs = monotonicClock.nowMs() + LOOK_WAIT_MS
      while (lag.lagMs() > MAX_LAG_MS) {
        const waitMs = untilMs - monotonicClock.nowMs()
        if (clock.nowMs() - lookedAtMs >= RECHECK_AFTER_MS)
          await withTimeout(
            waitMs,
            look().catch(() => undefined),
            () => undefined,
          )
        // A process that has just started may not yet have seen busy read models complete.
        else if (lag.lagMs() === Infinity && waitMs > 0) await pause(RECHECK_AFTER_MS)
        else throw behind()
      }
    },
  }
}

function behind(): DomainError {
  return new DomainError('read_model_behind', 'no request can be charged at the moment', {
    reason: `balances, prices or tokens are more than ${MAX_LAG_MS} ms behind the log`,
  })
}

/**
 * Waits until the read models were once seen complete: before that the process can admit no
 * request.
 */
export async function seeLedger(lag: LedgerLag): Promise<void> {
  const untilMs = monotonicClock.nowMs() + FIRST_SIGHT_MS
  while (lag.lagMs() === Infinity && monotonicClock.nowMs() < untilMs) {
    await lag.look().catch(() => undefined)
    if (lag.lagMs() === Infinity) await pause(FIRST_LOOK_MS)
  }
}
