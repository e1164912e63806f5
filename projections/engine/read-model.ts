import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { AnyEvent, AnyEventType } from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import type { Columns, Patch, Row } from './column.ts'
import type { AuditedRow, AuditedTable, StreamTable } from './audited-rows.ts'
import { expectInOrder } from './passed-over.ts'
import type { DeclaredTable, Table } from './table.ts'
import type { Projection, ProjectionDigest, TableDigest } from './types.ts'

/** Tables of a read model, by name. */
type Tables = Readonly<Record<string, DeclaredTable>>

/** The declaration of a projection without its handling of events. */
type Declared = Pick<Projection, 'tables' | 'tablesSql' | 'indexesSql' | 'digest'>

/**
 * Derives a projection's SQL from the tables of a read model. `totals` selects two text columns, a
 * name and a total worth showing; `views` are created after the tables.
 */
export function fromTables(
  tables: Tables,
  { totals, views = '' }: { readonly totals: string; readonly views?: string },
): Declared {
  const all = Object.values(tables)
  return {
    tables: all,
    tablesSql: [...all.map(({ tableSql }) => tableSql), views].join('\n'),
    indexesSql: all.map(({ indexesSql }) => indexesSql).join('\n'),
    digest: async (client) => ({
      ...(await digestTables(client, tables)),
      totals: await namedTotals(client, totals),
    }),
  }
}

/** The tables as an auditor reads them. */
export function audited<T extends Tables>(tables: T): { readonly [Name in keyof T]: AuditedTable } {
  const entries = Object.entries(tables).map(([name, table]) => [name, table.audited])
  return Object.fromEntries(entries) as { readonly [Name in keyof T]: AuditedTable }
}

/**
 * One hash over the rows of the tables. The hash of a table is the sum of its rows' hashes, so it
 * depends on no order and needs no sort, at any size.
 */
async function digestTables(
  client: PoolClient,
  tables: Tables,
): Promise<Pick<ProjectionDigest, 'rows' | 'hash' | 'tables'>> {
  const hash = createHash('sha256')
  const digests: Record<string, TableDigest> = {}
  let rows = 0
  for (const [name, { comparedSql }] of Object.entries(tables)) {
    const result = await client.query<{ rows: string; sum: string }>(
      `select count(*) as rows,
              coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as sum
       from (${comparedSql}) t`,
    )
    const row = result.rows[0]
    hash.update(`${name} ${row?.rows} ${row?.sum}\n`)
    digests[name] = { rows: Number(row?.rows ?? 0), sum: row?.sum ?? '0' }
    rows += digests[name].rows
  }
  return { rows, hash: hash.digest('hex'), tables: digests }
}

async function namedTotals(
  client: PoolClient,
  select: string,
): Promise<Readonly<Record<string, string>>> {
  const { rows } = await client.query<{ name: string; total: string }>(select)
  return Object.fromEntries(rows.map((row) => [row.name, row.total]))
}

/**
 * A table with one row for each item of a kind, and the columns that each event sets in that row.
 */
interface Rows<C extends Columns, E extends AnyEvent, Begins extends E['type']> {
  readonly table: Table<C>
  /** The stream of a row, by its key; by the first column of the key where a stream has several rows. */
  readonly stream: (owner: string) => string
  /** The key of the row that an event is about. */
  readonly of: (event: RecordedEvent<E>) => string
  /** The event that begins a row: every other finds one. */
  readonly begins: Begins
  /** Whether it may come again, and is then given the row; otherwise a second beginning is out of order. */
  readonly again?: true
  readonly sets: {
    readonly [Type in E['type']]: Type extends Begins
      ? (
          event: RecordedEvent<Extract<E, { readonly type: Type }>>,
          row: Row<C> | undefined,
        ) => Row<C>
      : (event: RecordedEvent<Extract<E, { readonly type: Type }>>, row: Row<C>) => Patch<C>
  }
}

/** A row before and after a batch. */
export interface RowChange<C extends Columns> {
  /** Undefined where the batch begins it. */
  readonly before: Row<C> | undefined
  readonly after: Row<C>
}

/** The declared rows of a table, and the functions derived from them. */
interface DeclaredRows<
  C extends Columns,
  E extends AnyEvent,
  Begins extends E['type'],
> extends Rows<C, E, Begins> {
  /** Applies a batch where the rows depend on their own events alone. */
  readonly apply: Projection['apply']
  /** The rows that an audit compares. */
  readonly audit: StreamTable
  /** The types of events that set something. */
  readonly types: readonly (E['type'] & AnyEventType)[]
}

/** Declares the columns that events set in the rows of a table. */
export function rowsOf<E extends AnyEvent>() {
  return <C extends Columns, Begins extends E['type']>(
    rows: Rows<C, E, Begins>,
  ): DeclaredRows<C, E, Begins> => ({
    ...rows,
    apply: async (client, batch) => {
      const changes = await foldRows(client, rows, batch)
      await rows.table.upsert(
        client,
        changes.map(({ after }) => after),
      )
    },
    audit: streamTable(rows),
    types: Object.keys(rows.sets) as (E['type'] & AnyEventType)[],
  })
}

/** A read model of rows that each depend on their own events alone. */
export function fromRows(
  rows: Readonly<
    Record<
      string,
      Pick<DeclaredRows<Columns, AnyEvent, AnyEventType>, 'apply' | 'audit' | 'types'> & {
        readonly table: DeclaredTable
      }
    >
  >,
  options: Parameters<typeof fromTables>[1],
): Declared & Pick<Projection, 'handles' | 'apply' | 'streamTables'> {
  const all = Object.values(rows)
  const tables = Object.entries(rows).map(([name, { table }]) => [name, table] as const)
  return {
    ...fromTables(Object.fromEntries(tables), options),
    handles: new Set(all.flatMap(({ types }) => types)),
    apply: async (client, batch) => {
      await allSettledOrThrow(all.map(({ apply }) => apply(client, batch)))
    },
    streamTables: all.map(({ audit }) => audit),
  }
}

/** The rows after some events, given those before, in the order in which they first appear. */
function rowsAfter<C extends Columns, E extends AnyEvent, Begins extends E['type']>(
  { of, begins, again, sets }: Omit<Rows<C, E, Begins>, 'table' | 'stream'>,
  known: ReadonlyMap<string, Row<C>>,
  events: readonly RecordedEvent<E>[],
): ReadonlyMap<string, Row<C>> {
  type Set = (event: RecordedEvent<E>, row: Row<C> | undefined) => Patch<C>
  const setting: Readonly<Record<string, Set>> = sets as object as Readonly<Record<string, Set>>
  const after = new Map<string, Row<C>>()
  for (const event of events) {
    const key = of(event)
    const row = after.get(key) ?? known.get(key)
    const isFirst = event.type === begins
    expectInOrder(row !== undefined || isFirst, `${event.type} of ${key}, which never began`)
    expectInOrder(row === undefined || !isFirst || again === true, `${key} began twice`)
    const patch = setting[event.type]?.(event, row)
    after.set(key, { ...(isFirst ? undefined : row), ...patch } as Row<C>)
  }
  return after
}

/** Picks the events that set something. */
function settingEvents<E extends AnyEvent>(
  { sets }: { readonly sets: { readonly [Type in E['type']]: unknown } },
  events: readonly RecordedEvent[],
): readonly RecordedEvent<E>[] {
  return events.filter(({ type }) => Object.hasOwn(sets, type)) as RecordedEvent<E>[]
}

/** Folds the events of a batch into one change for each row, in the order in which the rows first appear. */
export async function foldRows<C extends Columns, E extends AnyEvent, Begins extends E['type']>(
  client: PoolClient,
  rows: Rows<C, E, Begins>,
  batch: readonly RecordedEvent[],
): Promise<readonly RowChange<C>[]> {
  const events = settingEvents<E>(rows, batch)
  const known = await rows.table.load(client, [...new Set(events.map(rows.of))])
  const changed = rowsAfter(rows, known, events)
  return [...changed].map(([key, after]) => ({ before: known.get(key), after }))
}

/** The rows that an audit compares, folded from the events of one stream. */
function streamTable<C extends Columns, E extends AnyEvent, Begins extends E['type']>(
  rows: Rows<C, E, Begins>,
): StreamTable {
  const { table, stream, of, begins, sets } = rows
  const [owner = '', key = owner] = table.record.key
  return {
    table: table.audited,
    stream,
    owner,
    key,
    types: new Set(Object.keys(sets)),
    ...(key === owner && {
      begun: (event) => (event.type === begins ? of(event as RecordedEvent<E>) : undefined),
    }),
    rows: (events) => {
      const after = rowsAfter(rows, new Map(), settingEvents<E>(rows, events))
      return new Map(
        [...after].map(([name, row]): [string, AuditedRow] => [name, table.canonical(row)]),
      )
    },
  }
}
