import type { RecordedEvent } from '../../eventlog/log/types.ts'
import { newSecret } from '../../kernel/ids.ts'
import { keyedHash } from '../../kernel/keyed-hash.ts'
import type { RememberedTask } from './source-memory.ts'
import { PAGE_OWNERS, type StreamWalk } from './stream-walk.ts'
import type { TaskPlaces } from './task-places.ts'

/** Groups of tasks, by a hash of their ids. */
const GROUPS = 65_536

/**
 * The tasks whose rows were found right while the log was read: the walk over rows need not read
 * their streams again. Its memory does not grow with tasks. Of each it keeps a hash over its id and
 * the position of its last event, and only the exclusive or of those of a group. The rows of a group
 * give the same value when they are of the same tasks, each at the same position: those were all
 * compared. In every other group, rows that no event explains among them, the walk compares each.
 */
export class ComparedTasks {
  readonly #walk: StreamWalk
  readonly #places: TaskPlaces
  readonly #beginning: bigint
  /** Known to this audit alone: no one can make rows whose hashes cancel each other. */
  readonly #secret = newSecret('')
  readonly #sums = new BigUint64Array(GROUPS)
  /** Groups with a row that differs. */
  readonly #doubted = new Set<number>()

  /**
   * @param walk compares the rows of tasks; its findings are discarded
   * @param beginning the position from which the log is read
   */
  constructor(walk: StreamWalk, places: TaskPlaces, beginning: bigint) {
    this.#walk = walk
    this.#places = places
    this.#beginning = beginning
  }

  /** Compares the rows of tasks with their events so far. */
  async compare(tasks: readonly RememberedTask[]): Promise<void> {
    for (let from = 0; from < tasks.length; from += PAGE_OWNERS) {
      const page = tasks.slice(from, from + PAGE_OWNERS)
      const histories = new Map(page.map(({ state, events }) => [state.platformId, events]))
      const differing = await this.#walk.differing(histories)
      for (const [id, events] of histories) {
        this.#toggle(this.#sums, id, events.at(-1)?.position)
        // The walk corrects the counts over a row that has another place in its list.
        if (differing.has(id) || this.#places.displaced.has(id))
          this.#doubted.add(this.#groupOf(id))
      }
    }
  }

  /** Takes back a task that has another event after its rows were compared: they are compared again. */
  goesOn(platformId: string, { position }: RecordedEvent): void {
    if (position > this.#beginning) this.#toggle(this.#sums, platformId, position)
  }

  /** Whether the walk has to compare a task; undefined when it has to compare none. */
  async left(
    walk: StreamWalk,
    from: { readonly after: string; readonly changedAfter: bigint | undefined },
  ): Promise<((platformId: string) => boolean) | undefined> {
    const sums = this.#sums.slice()
    const take = (id: string, position: bigint | undefined): void =>
      this.#toggle(sums, id, position)
    for (let after: string | undefined = from.after; after !== undefined;)
      after = await walk.positions({ ...from, after }, take)
    const groups = new Set(this.#doubted)
    for (const [group, sum] of sums.entries()) if (sum !== 0n) groups.add(group)
    return groups.size === 0 ? undefined : (id) => groups.has(this.#groupOf(id))
  }

  /** Adds a task to the sum of its group, or takes it out where it is in it. */
  #toggle(sums: BigUint64Array, id: string, position: bigint | undefined): void {
    const group = this.#groupOf(id)
    const place = [id, String(position)]
    const hash = keyedHash(this.#secret, 'task at position', place).readBigUInt64LE()
    sums[group] = (sums[group] ?? 0n) ^ hash
  }

  #groupOf(id: string): number {
    return keyedHash(this.#secret, 'group of task', [id]).readUInt16LE()
  }
}
