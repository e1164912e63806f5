import type { LeaseQuery, Leases } from './leases.ts'

/** The longest time that one job may take: no job begins later than this before its lease ends. */
const WORKING_MS = 60_000
/** About 500 bytes each; further ones are leased again each time. */
const MAX_HELD = 50_000

/**
 * Jobs that stay leased until they are due again. Writing a lease and a due time every second for
 * each job would be most of Postgres' work.
 *
 * Memory is not proof: the lease may have been lost, so the row is read before a job is worked on
 * again. If the process dies, other workers free its leases.
 */
export class HeldJobs<Item extends { readonly leasedUntilMs: number }> {
  readonly #held = new Map<string, { readonly item: Item; readonly dueAtMs: number }>()
  readonly #idOf: (item: Item) => string

  constructor(idOf: (item: Item) => string) {
    this.#idOf = idOf
  }

  /** Whether it stays held until it is due; otherwise the caller must write its due time. */
  keep(item: Item, dueAtMs: number): boolean {
    return dueAtMs + WORKING_MS <= item.leasedUntilMs && this.put(item, dueAtMs)
  }

  /**
   * Holds a job however short the rest of its lease is: for a job whose row could not be written.
   */
  put(item: Item, dueAtMs: number): boolean {
    if (this.#held.size >= MAX_HELD) return false
    const id = this.#idOf(item)
    // Moves a job behind all others.
    this.#held.delete(id)
    this.#held.set(id, { item, dueAtMs })
    return true
  }

  /** Up to `limit` due jobs that `may` accepts, the longest held first; they stay until dropped. */
  due(nowMs: number, limit: number, may: (item: Item) => boolean = () => true): readonly Item[] {
    const due: Item[] = []
    for (const { item, dueAtMs } of this.#held.values()) {
      if (dueAtMs > nowMs || !may(item)) continue
      due.push(item)
      if (due.length === limit) break
    }
    return due
  }

  has(id: string): boolean {
    return this.#held.has(id)
  }

  drop(items: readonly Item[]): void {
    for (const item of items) this.#held.delete(this.#idOf(item))
  }
}

/** The held jobs of a lane, and its leases. */
interface Holding<Item extends { readonly leasedUntilMs: number }> {
  readonly held: HeldJobs<Item>
  readonly leases: Pick<
    Leases<Item, LeaseQuery, never>,
    'abandon' | 'forget' | 'reschedule' | 'has' | 'idOf' | 'confirm'
  >
}

/**
 * Due jobs that this process still leases; they stay held until dropped. @throws errors of Postgres
 */
export async function dueHeldJobs<Item extends { readonly leasedUntilMs: number }>(
  { held, leases }: Holding<Item>,
  ...query: Parameters<HeldJobs<Item>['due']>
): Promise<readonly Item[]> {
  const due = held.due(...query)
  const confirmed = new Set(await leases.confirm(due))
  held.drop(due.filter((item) => !confirmed.has(item)))
  return [...confirmed]
}

/**
 * Works on leased jobs. After a failure it holds those still leased until a time, so that no other
 * process works on them. @throws errors of the work
 */
export async function holdOnFailure<Item extends { readonly leasedUntilMs: number }>(
  { held, leases }: Holding<Item>,
  items: readonly Item[],
  work: () => Promise<void>,
  againAtMs: () => number,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    const dueAtMs = againAtMs()
    const left = items.map((item) => ({ item, id: leases.idOf(item) }))
    const lost = left.filter(
      ({ item, id }) => leases.has(id) && !held.has(id) && !held.put(item, dueAtMs),
    )
    leases.abandon(lost.map(({ id }) => id))
    throw error
  }
}

/** Holds jobs until a time, or reschedules them if that is too long. @throws errors of Postgres */
export async function postpone<Item extends { readonly leasedUntilMs: number }>(
  { held, leases }: Holding<Item>,
  items: readonly Item[],
  dueAtMs: number,
): Promise<void> {
  const left = items.filter((item) => !held.keep(item, dueAtMs))
  await leases.reschedule(left.map((item) => ({ id: leases.idOf(item), dueAtMs })))
}
