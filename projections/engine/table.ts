import type { PoolClient } from 'pg'
import { memberOf, type Column, type Columns, type Patch, type Row } from './column.ts'
import { textColumn } from './array-literals.ts'
import type { AuditedRow, AuditedTable } from './audited-rows.ts'

/** How an upsert changes a column of a row that exists. */
type OnConflict = 'replace' | 'add' | 'greatest' | 'fill'

/** The declaration of a table; its definition, statements and comparisons follow from it. */
interface TableRecord<C extends Columns> {
  readonly columns: C
  /** The primary key. */
  readonly key: readonly (keyof C & string)[]
  readonly constraints?: readonly string[]
  /** Set where an event begins each row: a second beginning is out of order, no defect. */
  readonly once?: true
  /** Storage parameters. */
  readonly storage?: string
  /**
   * Indexes by name without that of the table: `(columns) where condition`, with `unique` before
   * it.
   */
  readonly indexes?: Readonly<Record<string, string>>
  /** Indexes that the projection itself reads by: they exist from the beginning. */
  readonly earlyIndexes?: Readonly<Record<string, string>>
  /** Columns that an upsert changes in a row that exists; all but the key where absent, replaced. */
  readonly onConflict?: { readonly [Name in keyof C]?: OnConflict }
  /**
   * The view that has all rows, with its schema, where those of the table are only a part at each moment: a rebuild
   * compares its rows, and an audit names it.
   */
  readonly view?: string
  /** The condition of the rows that a rebuild compares, where not all. */
  readonly compared?: string
  /** The first row. */
  readonly seed?: string
}

/** Changes rows that exist, in one statement; returns how many there were. */
type Merge<C extends Columns> = (client: PoolClient, rows: readonly Patch<C>[]) => Promise<number>

const conflictSql: Readonly<Record<OnConflict, (column: string) => string>> = {
  replace: (column) => `excluded.${column}`,
  add: (column) => `kept.${column} + excluded.${column}`,
  greatest: (column) => `greatest(kept.${column}, excluded.${column})`,
  fill: (column) => `coalesce(excluded.${column}, kept.${column})`,
}

interface Cell {
  readonly name: string
  readonly member: string
  readonly column: Column
}

/** The columns in the order in which a statement has them: arrays before documents. */
function cellsOf(columns: Columns, names: readonly string[]): readonly Cell[] {
  const cells = names.flatMap((name) => {
    const column = columns[name]
    return column === undefined ? [] : [{ name, member: memberOf(name, column), column }]
  })
  const areDocuments = ({ column }: Cell): boolean => column.sent === 'documents'
  return [...cells.filter((one) => !areDocuments(one)), ...cells.filter(areDocuments)]
}

/** The values as a set of rows called `given`. */
function givenSql(cells: readonly Cell[]): string {
  const arrays = cells.flatMap(({ column }, n) =>
    column.sent === 'documents' ? [] : [`$${n + 1}::${column.sent}[]`],
  )
  const documents = cells.slice(arrays.length).map((_, n) => {
    return `json_array_elements($${arrays.length + n + 1}::json)`
  })
  const sets = [`unnest(${arrays.join(', ')})`, ...documents]
  const names = cells.map(({ name }) => name).join(', ')
  return `rows from (${sets.join(', ')}) as given (${names})`
}

function storedSql({ name, column }: Cell): string {
  return column.stored?.(`given.${name}`) ?? `given.${name}`
}

function indexesSql(table: string, indexes: Readonly<Record<string, string>> = {}): string {
  return Object.entries(indexes)
    .map(([name, of]) => {
      const unique = of.startsWith('unique ') ? 'unique ' : ''
      const on = of.slice(unique.length)
      return `create ${unique}index if not exists ${table}_${name} on ${table} ${on};`
    })
    .join('\n')
}

const withoutSchema = (name: string): string => name.slice(name.indexOf('.') + 1)

/** A table of a read model. Its statements name it without its schema: `search_path` says which one. */
export class Table<C extends Columns = Columns> {
  /** Name with its schema, e.g. `ledger.lines`. */
  readonly name: string
  readonly record: TableRecord<C>
  /** The part that an auditor compares with the log. */
  readonly audited: AuditedTable
  readonly #table: string
  readonly #cells: readonly Cell[]
  readonly #auditedCells: readonly Cell[]
  readonly #insertSql: string
  readonly #upsertSql: string

  constructor(name: string, record: TableRecord<C>) {
    this.name = name
    this.record = record
    this.#table = withoutSchema(name)
    const { columns, key, onConflict } = record
    this.#cells = cellsOf(columns, Object.keys(columns))
    this.#auditedCells = this.#cells.filter(({ column }) => !column.operational)
    const kinds = this.#auditedCells.map((cell) => [cell.name, cell.column.kind])
    this.audited = { name, columns: Object.fromEntries(kinds) }
    const names = this.#cells.map((cell) => cell.name)
    const others = names.filter((one) => !key.includes(one))
    const changed: Readonly<Record<string, OnConflict | undefined>> =
      onConflict ?? Object.fromEntries(others.map((one) => [one, 'replace']))
    const sets = Object.entries(changed).flatMap(([column, how]) =>
      how === undefined ? [] : [`${column} = ${conflictSql[how](column)}`],
    )
    this.#insertSql = `insert into ${this.#table} as kept (${names.join(', ')})
      select ${this.#cells.map(storedSql).join(', ')} from ${givenSql(this.#cells)}`
    this.#upsertSql = `${this.#insertSql}
      on conflict (${key.join(', ')}) do update set ${sets.join(', ')}`
  }

  /** Definition of the table, with the indexes that exist from the beginning. */
  get tableSql(): string {
    const { columns, key, constraints = [], storage, seed, earlyIndexes } = this.record
    const parts = Object.entries(columns).map(([name, { type, nullable, constraint = '' }]) =>
      [name, type, nullable ? '' : 'not null', constraint].filter(Boolean).join(' '),
    )
    const all = [...parts, `primary key (${key.join(', ')})`, ...constraints]
    return `create table ${this.#table} (${all.join(',\n  ')})${storage ? ` with (${storage})` : ''};
      ${seed === undefined ? '' : `insert into ${this.#table} values ${seed};`}
      ${indexesSql(this.#table, earlyIndexes)}`
  }

  /** Definitions of the indexes that only queries need. */
  get indexesSql(): string {
    return indexesSql(this.#table, this.record.indexes)
  }

  /** Selects the rows that a rebuild compares. */
  get comparedSql(): string {
    const { columns, compared, view } = this.record
    const names = Object.keys(columns).filter((name) => !columns[name]?.operational)
    const from = view === undefined ? this.#table : withoutSchema(view)
    return `select ${names.join(', ')} from ${from}${compared ? ` where ${compared}` : ''}`
  }

  /** The columns of a row in the form in which an auditor compares them, but for those left out. */
  canonical(row: Patch<C>, without?: ReadonlySet<string>): AuditedRow {
    const cells: Record<string, unknown> = {}
    for (const { name, member, column } of this.#auditedCells) {
      if (without?.has(name)) continue
      const value = (row as Readonly<Record<string, unknown>>)[member] ?? null
      const { canonical } = column
      cells[name] = value === null || !canonical ? value : canonical(value as never)
    }
    return cells
  }

  /** Inserts rows; `more` has the values of members that the rows lack, in the same order. */
  async insert<Member extends keyof Row<C> = never>(
    client: PoolClient,
    rows: readonly Omit<Row<C>, Member>[],
    more?: Readonly<Record<Member, readonly unknown[]>>,
  ): Promise<void> {
    if (rows.length === 0) return
    const values = encode(this.#cells, rows, more)
    await client.query({ name: `${this.name}.insert`, text: this.#insertSql, values })
  }

  /** Inserts rows, and changes those whose keys exist, as the record says. No key may come twice. */
  async upsert<Member extends keyof Row<C> = never>(
    client: PoolClient,
    rows: readonly Omit<Row<C>, Member>[],
    more?: Readonly<Record<Member, readonly unknown[]>>,
  ): Promise<void> {
    if (rows.length === 0) return
    const values = encode(this.#cells, rows, more)
    await client.query({ name: `${this.name}.upsert`, text: this.#upsertSql, values })
  }

  /** A statement that changes these columns of existing rows; null leaves a value unchanged. */
  merging(label: string, changing: readonly (keyof C & string)[]): Merge<C> {
    const { columns, key } = this.record
    const cells = cellsOf(columns, [...key, ...changing])
    const sets = cellsOf(columns, changing).map(
      (cell) => `${cell.name} = coalesce(${storedSql(cell)}, kept.${cell.name})`,
    )
    const name = `${this.name}.${label}`
    const text = `update ${this.#table} as kept set ${sets.join(', ')} from ${givenSql(cells)}
      where ${key.map((column) => `kept.${column} = given.${column}`).join(' and ')}`
    return async (client, rows) => {
      if (rows.length === 0) return 0
      const { rowCount } = await client.query({ name, text, values: encode(cells, rows) })
      return rowCount ?? 0
    }
  }

  /** Rows of these keys, for a table whose key is one text column: its decimals come as text, not in pico. */
  async load(client: PoolClient, keys: readonly string[]): Promise<ReadonlyMap<string, Row<C>>> {
    if (keys.length === 0) return new Map()
    const [key = ''] = this.record.key
    const selected = this.#cells.map(
      ({ name, member, column }) => `${column.read?.(name) ?? name} as "${member}"`,
    )
    const { rows } = await client.query<Record<string, unknown>>({
      name: `${this.name}.load`,
      text: `select ${selected.join(', ')} from ${this.#table} where ${key} = any($1::text[])`,
      values: [textColumn(keys)],
    })
    const decoded = this.#cells.filter(({ column }) => column.decode !== undefined)
    for (const row of rows)
      for (const { member, column } of decoded) row[member] = column.decode?.(row[member])
    const keyMember = this.#cells.find(({ name }) => name === key)?.member ?? key
    return new Map(rows.map((row) => [String(row[keyMember]), row as Row<C>]))
  }
}

function encode(
  cells: readonly Cell[],
  rows: readonly object[],
  more: Readonly<Record<string, readonly unknown[]>> = {},
): string[] {
  return cells.map(({ member, column }) =>
    column.encode(
      more[member] ?? rows.map((row) => (row as Readonly<Record<string, unknown>>)[member]),
    ),
  )
}

/** A table of any columns. */
export interface DeclaredTable extends Pick<
  Table,
  'name' | 'tableSql' | 'indexesSql' | 'comparedSql' | 'audited'
> {
  readonly record: {
    readonly columns: Columns
    readonly key: readonly string[]
    readonly once?: true
    readonly view?: string
  }
}

/** Declares a table; `name` has its schema, e.g. `ledger.lines`. */
export function table<const C extends Columns>(name: string, record: TableRecord<C>): Table<C> {
  return new Table(name, record)
}
