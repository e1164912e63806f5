import { movedTenantsSql } from '../../../projections/ledger/query.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Gauge } from './gauge.ts'
import type { LedgerFloor } from './ledger-floor.ts'

/**
 * Finds which balances may have moved, so that only those are read again. A balance depends on its row of the ledger, on
 * the reservations of tasks that the ledger lacks, and on what the other replicas report. One statement reads the
 * ledger's position, the tenants whose rows moved after an earlier position, and those of which anything else counts. A
 * reading from that earlier position or later, in which nothing but the ledger counted, is exactly what would be read
 * at this moment of any other tenant: it is as good as a reading at the new position.
 */

/** A list with more names is not used: all balances in use are read then. */
const MAX_MOVED = 10_000
const PAGE_BYTES = 8_192
/** A table of balances of this many pages is read faster than some hundred names are looked up. */
const FEW_PAGES = 100

/** The ledger at one moment, and what moved until then. */
interface Moved {
  readonly position: bigint
  /** Identifies the tables of the ledger: a rebuild puts others in their place. */
  readonly tables: string
  /** Size of the table of balances. */
  readonly pages: number
  /** Tenants, and names of budgets; undefined where there are too many. */
  readonly names: ReadonlySet<string> | undefined
}

/** The ledger at an exchange. */
export interface LedgerSeen {
  readonly position: bigint
  /** Whether the known reading of a gauge is what a reading at the position has. */
  readonly isUnmoved: (gauge: Gauge<unknown>) => boolean
}

/** The ledger as it was seen at the last exchange, with which the next one compares it. */
export class SeenLedger {
  readonly #ledger: LedgerFloor
  #last: (Pick<Moved, 'position' | 'tables' | 'pages'> & { readonly era: number }) | undefined

  constructor(ledger: LedgerFloor) {
    this.#ledger = ledger
  }

  /**
   * Looks at the ledger. Undefined before it first ran, and while it is behind where it was before. @param names those
   * whose readings could be kept
   */
  async look(
    db: Queryable,
    names: readonly string[],
    exceptReplica: string,
  ): Promise<LedgerSeen | undefined> {
    const ledger = this.#ledger
    const sent = ledger.mark()
    const last = this.#last
    // Until the look is over there is nothing to compare with: a failed one may not count.
    this.#last = undefined
    const moved = await readMoved(db, { ...last, names, exceptReplica })
    if (moved === undefined || !ledger.allows(moved.position, sent)) return undefined
    const { position, tables, pages } = moved
    this.#last = { position, tables, pages, era: ledger.era }
    const isComparable = last?.era === ledger.era && last.tables === tables
    return {
      position,
      isUnmoved: (gauge) =>
        isComparable &&
        moved.names?.has(gauge.name) === false &&
        gauge.isCurrentSince(last.position, ledger.era),
    }
  }
}

async function readMoved(
  db: Queryable,
  since: {
    /** Undefined at the first look: then no name is needed. */
    readonly position?: bigint
    readonly pages?: number
    readonly names: readonly string[]
    readonly exceptReplica: string
  },
): Promise<Moved | undefined> {
  const { position = 9_223_372_036_854_775_807n, pages = 0, names, exceptReplica } = since
  const isLookedUp = pages > Math.max(FEW_PAGES, names.length)
  const { rows } = await db.query<{
    position: string
    tables: string
    pages: number
    names: readonly string[]
  }>({
    name: isLookedUp ? 'spending-moved-of' : 'spending-moved',
    text: `with ledger as (select position from engine.checkpoints where name = 'ledger'),
           moved as (
             ${movedTenantsSql} ${isLookedUp ? 'and tenant_id = any($3::text[])' : ''}
             union
             select a.tenant_id from ops.admissions a, ledger l
             where coalesce(a.position, 9223372036854775807) > l.position
             union
             select t.tenant_id from ops.text_spending t, ledger l
             where t.replica <> $2
               and (t.held <> 0 or (t.settled <> 0 and (t.position > l.position) is not false)))
           select position, to_regclass('ledger.balances')::oid::text as tables,
                  (pg_relation_size(to_regclass('ledger.balances')) / ${PAGE_BYTES})::integer as pages,
                  array(select tenant_id from moved limit ${MAX_MOVED + 1}) as names
           from ledger`,
    values: [position, exceptReplica, ...(isLookedUp ? [names] : [])],
  })
  const [row] = rows
  if (row === undefined) return undefined
  return {
    position: BigInt(row.position),
    tables: row.tables,
    pages: row.pages,
    names: row.names.length > MAX_MOVED ? undefined : new Set(row.names),
  }
}
