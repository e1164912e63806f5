import { formatAmount, parseAmount } from '../../src/kernel/money.ts'
import { jsonColumn, plainColumn, storableJson, textColumn } from './array-literals.ts'
import { canonicalTime, type ColumnKind } from './audited-rows.ts'

/** How a column is declared, sent in bulk, read and compared. */
export interface Column<
  Value = unknown,
  Member extends string | undefined = string | undefined,
  Kind extends ColumnKind = ColumnKind,
> {
  /** SQL type. */
  readonly type: string
  /** Type of the array that carries its values; `documents` are sent as one JSON array instead. */
  readonly sent: string
  readonly encode: (values: readonly unknown[]) => string
  /** Expression of the stored value, if it differs from the sent one. */
  readonly stored?: (sent: string) => string
  /** The form in which auditors compare it. */
  readonly kind: Kind
  /** A value in that form, where it is not as rows have it. */
  readonly canonical?: (value: never) => string
  /** The expression that reads it without losing a digit, where the driver would. */
  readonly read?: (column: string) => string
  /** Converts the value that the driver returns. */
  readonly decode?: (value: unknown) => unknown
  readonly nullable?: true
  /** More of its definition: a check, a default, a reference. */
  readonly constraint?: string
  /** Not derived from the log: no rebuild and no audit compares it. */
  readonly operational?: true
  /** The member of a row that it is written from, where that is not its name in camel case. */
  readonly member?: Member
  /** Type of a value; never present. */
  readonly value?: Value
}

/** Columns of a table by name, in the order of the table. */
export type Columns = Readonly<Record<string, Column>>

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

type ValueOf<C> = C extends { readonly value?: infer Value } ? Value : never
type MemberOf<Name extends string, C> =
  C extends Column<unknown, infer Member>
    ? [Member] extends [string]
      ? Member
      : Camel<Name>
    : never

/** A row in the program: members in camel case; those of nullable columns may be absent. */
export type Row<C extends Columns> = {
  readonly [
    Name in keyof C & string as undefined extends ValueOf<C[Name]> ? never : MemberOf<Name, C[Name]>
  ]: ValueOf<C[Name]>
} & {
  readonly [
    Name in keyof C & string as undefined extends ValueOf<C[Name]> ? MemberOf<Name, C[Name]> : never
  ]?: ValueOf<C[Name]>
}

/** A row as queries return it: times in Unix milliseconds, under a member that says so. */
export type StoredRow<C extends Columns, Absent = null> = {
  readonly [
    Name in keyof C & string as C[Name]['kind'] extends 'time'
      ? `${MemberOf<Name, C[Name]>}Ms`
      : MemberOf<Name, C[Name]>
  ]: undefined extends ValueOf<C[Name]> ? StoredValue<C[Name]> | Absent : StoredValue<C[Name]>
}
type StoredValue<C extends Column> = C['kind'] extends 'time' ? number : NonNullable<ValueOf<C>>

/** Some members of a row. */
export type Patch<C extends Columns> = {
  readonly [Member in keyof Row<C>]?: Row<C>[Member] | undefined
}

type Plain<Value, Kind extends ColumnKind = 'text'> = Column<Value, undefined, Kind>

function ofText<Kind extends ColumnKind>(type: string, kind: Kind) {
  return {
    type,
    sent: type,
    kind,
    encode: (values: readonly unknown[]) => textColumn(values as string[]),
  }
}

function ofPlain(type: string) {
  return {
    type,
    sent: type,
    kind: 'text' as const,
    encode: (values: readonly unknown[]) => plainColumn(values as bigint[]),
  }
}

const asText = (column: string): string => `${column}::text`

/** Text, or one of a few words. */
export function text<Value extends string = string>(): Plain<Value> {
  return ofText('text', 'text')
}

/**
 * An id that is found by its beginning. Its order is that of its bytes: in the order of another language
 * a range of ids lacks some that begin so.
 */
export function id(): Plain<string> {
  return { ...text(), type: 'text collate "C"' }
}

/** A UUID. */
export function uuid(): Plain<string> {
  return ofText('uuid', 'text')
}

/** RFC 3339. */
export function time(): Plain<string, 'time'> {
  return { ...ofText('timestamptz', 'time'), read: asText, canonical: canonicalTime }
}

/** A time given in Unix milliseconds. */
export function timeOfMs(): Plain<number, 'time'> {
  const stored = (sent: string): string => `to_timestamp(${sent} / 1000.0)`
  const canonical = canonicalTime
  return { ...ofPlain('timestamptz'), sent: 'bigint', stored, kind: 'time', canonical }
}

/** `YYYY-MM-DD`. */
export function date(): Plain<string, 'date'> {
  return { ...ofText('date', 'date'), read: asText }
}

/** True or false. */
export function bool(): Plain<boolean> {
  return ofPlain('boolean')
}

/** A small whole number. */
export function smallint(): Plain<number> {
  return ofPlain('smallint')
}

/** A whole number up to 2³¹. */
export function int(): Plain<number> {
  return ofPlain('int')
}

/** A position, a revision, a count. */
export function bigint(): Plain<bigint> {
  const decode = (value: unknown): unknown => (typeof value === 'string' ? BigInt(value) : value)
  return { ...ofPlain('bigint'), decode }
}

/** A whole number that events give as a number. */
export function whole(): Plain<bigint | number> {
  return bigint()
}

/** A time as Unix milliseconds. */
export function unixMs(): Plain<number> {
  const decode = (value: unknown): unknown => (typeof value === 'string' ? Number(value) : value)
  return { ...ofPlain('bigint'), decode }
}

/** A sum of whole numbers. */
export function quantity(): Plain<bigint, 'amount'> {
  return { ...ofPlain('numeric(38, 0)'), sent: 'numeric', kind: 'amount' }
}

/** An exact decimal, given as one. */
export function decimal(): Plain<string, 'amount'> {
  const canonical = (value: string): string => formatAmount(parseAmount(value))
  return { ...ofText('numeric(38, 12)', 'amount'), sent: 'numeric', canonical }
}

/** An exact decimal, given in millionths of millionths. */
export function pico(): Plain<bigint, 'amount'> {
  const encode = (values: readonly unknown[]): string =>
    textColumn(values.map((value) => formatAmount(value as bigint)))
  return {
    ...ofText('numeric(38, 12)', 'amount'),
    sent: 'numeric',
    encode,
    canonical: formatAmount,
  }
}

/** Bytes. */
export function bytes(): Plain<Uint8Array, 'hex'> {
  const encode = (values: readonly unknown[]): string =>
    textColumn(values.map((value) => String.raw`\x${(value as Buffer).toString('hex')}`))
  const canonical = (value: Uint8Array): string => Buffer.from(value).toString('hex')
  return { ...ofText('bytea', 'hex'), encode, canonical }
}

/** JSON taken apart. */
export function json<Value = unknown>(): Plain<Value, 'json'> {
  return { type: 'jsonb', sent: 'jsonb', kind: 'json', encode: jsonColumn }
}

/**
 * JSON stored as text. It is sent as one array, so that nothing has to be quoted for an array
 * literal.
 */
export function document(): Plain<object, 'json'> {
  const encode = (values: readonly unknown[]): string => `[${values.map(storableJson).join(',')}]`
  return { type: 'json', sent: 'documents', kind: 'json', encode }
}

/** An array of texts. */
export function texts(): Plain<readonly string[], 'json'> {
  const encode = (values: readonly unknown[]): string =>
    textColumn(values.map((value) => (Array.isArray(value) ? textColumn(value) : null)))
  return { type: 'text[]', sent: 'text', stored: (sent) => `${sent}::text[]`, kind: 'json', encode }
}

/** A column that may be null. */
export function nullable<Value, Member extends string | undefined, Kind extends ColumnKind>(
  column: Column<Value, Member, Kind>,
): Column<Value | null | undefined, Member, Kind> {
  return { ...column, nullable: true }
}

/** A column of the workers, not of the log. */
export function operational<C extends Column>(column: C): C {
  return { ...column, operational: true }
}

/** A column with a check, a default or a reference. */
export function constrained<C extends Column>(column: C, constraint: string): C {
  return { ...column, constraint }
}

/** A column written from a member of another name. */
export function from<Value, Member extends string, Kind extends ColumnKind>(
  member: Member,
  column: Column<Value, undefined, Kind>,
): Column<Value, Member, Kind> {
  return { ...column, member }
}

/** The member of a row that a column is written from. */
export function memberOf(name: string, { member }: Column): string {
  return member ?? name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * Reads rows of a query that returns all these columns, and perhaps further ones; null becomes
 * `absent`.
 */
export function reader<C extends Columns, Absent extends null | undefined>(
  columns: C,
  absent: Absent,
) {
  const members = Object.entries(columns).map(([name, column]) => {
    const member = memberOf(name, column)
    const isTime = column.kind === 'time'
    return { name, member: isTime ? `${member}Ms` : member, isTime, decode: column.decode }
  })
  return (record: object): StoredRow<C, Absent> => {
    const row: Record<string, unknown> = {}
    for (const { name, member, isTime, decode } of members) {
      const value = (record as Readonly<Record<string, unknown>>)[name]
      if (value === null || value === undefined) row[member] = absent
      else if (isTime && value instanceof Date) row[member] = value.getTime()
      else row[member] = decode === undefined ? value : decode(value)
    }
    return row as StoredRow<C, Absent>
  }
}
