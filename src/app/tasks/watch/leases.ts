import type { Pool } from 'pg'
import {
  type DuePoll,
  leaseDuePolls,
  type LeaseWish,
  recallPolls,
  type Reschedule,
  reschedulePolls,
} from '../../../../projections/tasks/query.ts'

/** What a statement that failed left leased is due again after this: a round that fails again must not spin. */
const RECALL_MS = 2_000

/**
 * The tasks of one kind that this process has leased. A statement that fails may have leased tasks that the
 * process does not know of, or may have left leased what it does not work on any more. Both are found by
 * comparing the rows with what is known here, before anything else is leased: no task waits for the end
 * of its lease because of a failed statement.
 */
export interface Leases {
  /** Leases what is due. @throws what Postgres does */
  readonly take: (wish: LeaseWish) => Promise<readonly DuePoll[]>
  /** Says when these are due next. @throws what Postgres does; they are leased still */
  readonly giveBack: (items: readonly Reschedule[]) => Promise<void>
  /** These have ended, or are leased to another: nothing is left to give back. */
  readonly forget: (platformIds: Iterable<string>) => void
  /** These are not worked on any more, and their rows still say that they are leased. */
  readonly abandon: (platformIds: Iterable<string>) => void
  readonly has: (platformId: string) => boolean
  readonly ids: () => Iterable<string>
}

export interface LeaseSettings {
  readonly owner: string
  readonly kind: DuePoll['kind']
  readonly leaseMs: number
  /** Which of those that are due go first: unless said, the longest due. */
  readonly lease?: typeof leaseDuePolls
  /** Tasks that may be of this kind and are leased to this process by other means. */
  readonly alsoKnown?: () => Iterable<string>
}

export function createLeases(pool: Pool, settings: LeaseSettings): Leases {
  const { owner, kind, leaseMs, lease = leaseDuePolls, alsoKnown = () => [] } = settings
  const known = new Set<string>()
  /** How often a row was left that may say something else than `known`, and how many of those are mended. */
  let doubts = 0
  let mended = 0
  const recall = async (nowMs: number): Promise<void> => {
    const seen = doubts
    if (seen === mended) return
    const ids = [...known, ...alsoKnown()]
    await recallPolls(pool, { owner, kind, besidesIds: ids, dueAtMs: nowMs + RECALL_MS })
    mended = seen
  }
  const forget = (platformIds: Iterable<string>): void => {
    for (const id of platformIds) known.delete(id)
  }
  return {
    take: async (wish) => {
      await recall(wish.nowMs)
      try {
        const due = await lease(pool, { ...wish, owner, kind, leaseMs })
        for (const { platformId } of due) known.add(platformId)
        return due
      } catch (error) {
        doubts += 1
        throw error
      }
    },
    giveBack: async (items) => {
      await reschedulePolls(pool, owner, items)
      forget(items.map(({ platformId }) => platformId))
    },
    forget,
    abandon: (platformIds) => {
      for (const id of platformIds) if (known.delete(id)) doubts += 1
    },
    has: (platformId) => known.has(platformId),
    ids: () => known,
  }
}
