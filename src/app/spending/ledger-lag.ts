import type { Pool } from 'pg'
import { runForAllTokens } from '../../kernel/token-context.ts'
import { readCheckpoint } from '../../../projections/engine/checkpoint.ts'
import type { EventLog } from '../../eventlog/log/types.ts'
import { type Clock, monotonicClock } from '../../kernel/clock.ts'
import { pause } from '../../kernel/pause.ts'

/** Positions of the log's end remembered that the ledger has not reached. */
const MAX_REMEMBERED = 64
/** At startup the process waits at most this long for a complete ledger, and looks this often. */
const FIRST_SIGHT_MS = 5_000
const FIRST_LOOK_MS = 50

/** How far the ledger is behind the log, in time. */
export interface LedgerLag {
  /** How long the ledger may have lacked events; infinite until it was once seen complete. */
  readonly lagMs: () => number
  /** Compares the ledger with the log. Concurrent callers share one comparison. */
  readonly look: () => Promise<void>
}

/**
 * Remembers where the log ended and when. The ledger has everything from before the last of these
 * positions that it has passed. A log or a ledger that does not answer counts as lag.
 */
export function createLedgerLag(deps: {
  readonly logEnd: () => Promise<bigint | undefined>
  readonly ledgerPosition: () => Promise<bigint>
  readonly clock: Clock
}): LedgerLag {
  const { logEnd, ledgerPosition, clock } = deps
  let completeAtMs = Number.NEGATIVE_INFINITY
  let ends: readonly { readonly position: bigint; readonly atMs: number }[] = []
  let looking: Promise<void> | undefined

  const look = async (): Promise<void> => {
    const atMs = clock.nowMs()
    const position = (await logEnd()) ?? -1n
    const reached = await ledgerPosition()
    // The ledger reaches the first ones first; of the others the latest is enough.
    ends = [...ends.slice(0, MAX_REMEMBERED - 1), { position, atMs }]
    for (const end of ends)
      if (end.position <= reached) completeAtMs = Math.max(completeAtMs, end.atMs)
    ends = ends.filter((end) => end.position > reached)
  }
  return {
    lagMs: () => clock.nowMs() - completeAtMs,
    look: () => (looking ??= runForAllTokens(look).finally(() => (looking = undefined))),
  }
}

/** How far the ledger's read model is behind the log. */
export function watchLedger(pool: Pool, log: Pick<EventLog, 'endPosition'>): LedgerLag {
  return createLedgerLag({
    logEnd: () => log.endPosition(),
    ledgerPosition: async () => (await readCheckpoint(pool, 'ledger'))?.position ?? -1n,
    clock: monotonicClock,
  })
}

/** Waits until the ledger was once seen complete: before that the process can admit no call. */
export async function seeLedger(lag: LedgerLag): Promise<void> {
  const untilMs = monotonicClock.nowMs() + FIRST_SIGHT_MS
  while (lag.lagMs() === Infinity && monotonicClock.nowMs() < untilMs) {
    await lag.look().catch(() => undefined)
    if (lag.lagMs() === Infinity) await pause(FIRST_LOOK_MS)
  }
}
