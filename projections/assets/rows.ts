import type { PoolClient } from 'pg'
import { textColumn } from '../engine/columns.ts'
import type { Columns, TextRow } from './columns.ts'

/** A table with a row for each thing of a kind, and how its events change that row. */
export interface KeptTable<C extends Columns, Event> {
  readonly name: string
  /** Its primary key. */
  readonly key: keyof C & string
  readonly columns: C
  /** Set by the first event and by no other. */
  readonly fixed: ReadonlySet<string>
  readonly idOf: (event: Event) => string
  readonly after: (row: TextRow<C> | undefined, event: Event) => TextRow<C>
}

/** A row before and after a batch. */
export interface RowChange<C extends Columns> {
  /** Undefined where the batch begins it. */
  readonly before: TextRow<C> | undefined
  readonly after: TextRow<C>
}

/** The rows of these events as they stand; every column as text, times with all their digits. */
async function loadRows<C extends Columns, Event>(
  client: PoolClient,
  { name, key, columns }: KeptTable<C, Event>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TextRow<C>>> {
  if (ids.length === 0) return new Map()
  const selected = Object.keys(columns).map((column) => `${column}::text`)
  const { rows } = await client.query<TextRow<C>>({
    name: `assets.${name}.known`,
    text: `select ${selected.join(', ')} from ${name} where ${key} = any($1::text[])`,
    values: [textColumn(ids)],
  })
  return new Map(rows.map((row) => [String(row[key]), row]))
}

/** Folds a batch into one change for each row, in the order in which the rows first appear. */
export async function foldRows<C extends Columns, Event>(
  client: PoolClient,
  table: KeptTable<C, Event>,
  events: readonly Event[],
): Promise<readonly RowChange<C>[]> {
  const known = await loadRows(client, table, [...new Set(events.map(table.idOf))])
  const after = new Map<string, TextRow<C>>()
  for (const event of events) {
    const id = table.idOf(event)
    after.set(id, table.after(after.get(id) ?? known.get(id), event))
  }
  return [...after].map(([id, row]) => ({ before: known.get(id), after: row }))
}

/** Writes what a batch made of the rows: one statement, which leaves alone what never changes. */
export async function writeRows<C extends Columns, Event>(
  client: PoolClient,
  { name, key, columns, fixed }: KeptTable<C, Event>,
  changes: readonly RowChange<C>[],
): Promise<void> {
  if (changes.length === 0) return
  const names: readonly (keyof C & string)[] = Object.keys(columns)
  const arrays = names.map((column, n) => `$${n + 1}::${columns[column]?.replace('?', '')}[]`)
  const changing = names.filter((column) => !fixed.has(column))
  await client.query({
    name: `assets.${name}.write`,
    text: `insert into ${name} (${names.join(', ')})
           select * from unnest(${arrays.join(', ')})
           on conflict (${key}) do update
           set ${changing.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    values: names.map((column) => textColumn(changes.map(({ after }) => after[column]))),
  })
}
