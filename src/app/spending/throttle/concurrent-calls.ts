import type { Gauge } from '../gauge.ts'
import type { ReplicaGauges } from '../replica-gauges.ts'
import { readCallsElsewhere, reportCalls } from '../replica-reports.ts'
import type { Reservation } from '../reservation.ts'

import { type Holder, limitReached } from './limits.ts'

/** Calls end at any time, so a refused caller may retry soon. */
const RETRY_AFTER_MS = 1_000
/** Time for which the reports of the other replicas count. */
const LEARNT_FOR_MS = 10_000
/** Holders remembered; a process has far fewer calls in flight. */
const MAX_HOLDERS = 100_000
/** Most holders reported and read in one statement. */
const MAX_EXCHANGED = 5_000

/**
 * Counts the synchronous calls in flight of every holder with a limit. The count is in memory and
 * shared with the other replicas about once a second. A replica that has received no report yet
 * counts only its own calls, so together the replicas exceed the limit by at most the limit once
 * more for each further one, and start nothing more until the excess is over.
 */
export interface CallsUnderWay {
  /** Takes a place with every limited holder, if any. @throws DomainError `rate_limited` */
  readonly enter: (holders: readonly Holder[]) => Reservation | undefined
  /** Number of calls known to be running, on this replica and the others. */
  readonly of: (holderId: string) => number
}

export function createCallsUnderWay(gauges: Pick<ReplicaGauges, 'ofKind'>): CallsUnderWay {
  /** Limits at which a call was counted or refused since the last reading. */
  const asked = new WeakSet<Gauge>()
  const known = gauges.ofKind<void>({
    report: reportCalls,
    read: async (db, some, exceptReplica) => {
      const names = some.map(({ name }) => name)
      const elsewhere = await readCallsElsewhere(db, names, exceptReplica)
      for (const gauge of some) asked.delete(gauge)
      return new Map(
        names.map((name) => {
          const available = new Map([['calls', -(elsewhere.get(name) ?? 0n)] as const])
          return [name, { available, position: 0n }] as const
        }),
      )
    },
    isOutsideLedger: true,
    maxKnown: MAX_HOLDERS,
    maxExchanged: MAX_EXCHANGED,
    // A holder with recent requests stays up to date while other replicas are busy.
    isWatched: (gauge) => asked.has(gauge) || -gauge.available('calls') > gauge.own('calls'),
  })
  const total = (gauge: Gauge): bigint =>
    gauge.ageMs() < LEARNT_FOR_MS ? -gauge.available('calls') : gauge.own('calls')

  return {
    enter: (holders) => {
      // All holders are checked before a place is taken: a refused call is not counted.
      const entered = holders.flatMap(({ whose, id, limits: { concurrentCalls: limit } }) => {
        if (limit === undefined) return []
        const gauge = known.of(id)
        asked.add(gauge)
        if (total(gauge) >= limit) {
          const waitMs = RETRY_AFTER_MS
          throw limitReached({ whose, limitedBy: 'concurrent_calls', limit, waitMs })
        }
        return [gauge]
      })
      if (entered.length === 0) return undefined
      const places = entered.map((gauge) => gauge.place('calls', 1n))
      const leave = (): void => {
        for (const place of places) place.release('failed')
      }
      // A call that ended leaves nothing to settle here.
      return { commit: leave, release: leave }
    },
    of: (holderId) => {
      const gauge = known.known(holderId)
      return gauge === undefined ? 0 : Number(total(gauge))
    },
  }
}
