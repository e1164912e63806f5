import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { type Cells, inMilliseconds } from '../../../../projections/ledger/query.ts'
import { unreachable } from '../../../kernel/assert.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import { parseAmount } from '../../../kernel/money.ts'
import type { ColumnKind, LineColumn } from './columns.ts'

/**
 * Parquet of rows of text. Every value is exact: amounts are decimals, made from integers and never from floats, and a
 * value that its column cannot hold ends the file.
 */

/** Rows of a row group. One group at a time is in memory. */
export const GROUP_ROWS = 20_000

/** `numeric(38,12)` of the ledger. */
const DECIMAL = { precision: 38, scale: 12 } as const
const DECIMAL_BYTES = 16
const MAX_INTEGER = 2n ** 63n - 1n

/** How a kind of column is stored, and the meaning that readers find in the footer. */
const types: Readonly<Record<ColumnKind, readonly [stored: object, meaning: object]>> = {
  text: textOf('UTF8', 'STRING'),
  plain: textOf('UTF8', 'STRING'),
  json: textOf('JSON', 'JSON'),
  integer: [{ type: 'INT64' }, {}],
  position: [{ type: 'INT64' }, {}],
  time: [
    { type: 'INT64' },
    {
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
  ],
  decimal: [
    { type: 'FIXED_LEN_BYTE_ARRAY', type_length: DECIMAL_BYTES },
    { converted_type: 'DECIMAL', ...DECIMAL, logical_type: { type: 'DECIMAL', ...DECIMAL } },
  ],
}

function textOf(converted: 'UTF8' | 'JSON', logical: 'STRING' | 'JSON') {
  return [
    { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    { converted_type: converted, logical_type: { type: logical } },
  ] as const
}

/** The schema by which values are encoded, or the one that readers see. */
function schemaOf(columns: readonly LineColumn[], isShown: boolean): SchemaElement[] {
  const elements = columns.map(({ name, kind, isNullable }) => {
    const [stored, meaning] = types[kind]
    const repetition = isNullable ? 'OPTIONAL' : 'REQUIRED'
    return { name, repetition_type: repetition, ...stored, ...(isShown && meaning) }
  })
  return [{ name: 'lines', num_children: columns.length }, ...elements] as SchemaElement[]
}

/** The least and the most of a row group, by which readers pass over it: not of decimals, whose bytes have no order. */
const isRanged: ReadonlySet<ColumnKind> = new Set(['time', 'integer', 'position'])

type Value = string | bigint | Uint8Array | null

/** Reads cells of one row group; amounts that repeat are read once. */
class CellReader {
  readonly #decimals = new Map<string, Uint8Array>()

  /** @throws RangeError for what the column cannot hold */
  read({ name, kind, isNullable }: LineColumn, cell: string | null): Value {
    if (cell === null) {
      if (isNullable) return null
      throw new RangeError(`a line has no ${name}`)
    }
    switch (kind) {
      case 'text':
      case 'plain':
      case 'json':
        return cell
      case 'time':
        return BigInt(fromTimestamp(inMilliseconds(cell)))
      case 'integer':
      case 'position':
        return integerOf(name, cell)
      case 'decimal':
        return this.#decimalOf(cell)
      default:
        return unreachable(kind)
    }
  }

  /** An amount as the bytes of an integer of 10⁻¹², the highest byte first. @throws RangeError */
  #decimalOf(cell: string): Uint8Array {
    const known = this.#decimals.get(cell)
    if (known !== undefined) return known
    // No decimal that can be parsed has more digits than the column.
    const amountPico = parseAmount(cell)
    const bytes = new Uint8Array(DECIMAL_BYTES)
    const view = new DataView(bytes.buffer)
    view.setBigInt64(0, amountPico >> 64n)
    view.setBigUint64(8, BigInt.asUintN(64, amountPico))
    this.#decimals.set(cell, bytes)
    return bytes
  }
}

/** @throws RangeError */
function integerOf(name: string, cell: string): bigint {
  const value = BigInt(cell)
  if (value > MAX_INTEGER || value < -MAX_INTEGER - 1n)
    throw new RangeError(`${name} ${cell} is more than an integer of 64 bits holds`)
  return value
}

/** Writes a part of a file; the bytes are valid until it resolves. */
export type WritePart = (bytes: Uint8Array) => Promise<void>

/** Bytes that are written after each row group. */
class PartWriter extends ByteWriter {
  readonly #write: WritePart

  constructor(write: WritePart) {
    super()
    this.#write = write
  }

  async flush(): Promise<void> {
    await this.#write(this.getBytes())
    this.index = 0
  }
}

/** The values of a row group, column by column. */
class RowGroup {
  rows = 0
  readonly #columns: readonly LineColumn[]
  readonly #values: readonly Value[][]
  readonly #cells = new CellReader()

  constructor(columns: readonly LineColumn[]) {
    this.#columns = columns
    this.#values = columns.map(() => [])
  }

  add(row: Cells): void {
    for (const [n, column] of this.#columns.entries())
      this.#values[n]?.push(this.#cells.read(column, row[column.at] ?? null))
    this.rows += 1
  }

  async writeTo(parquet: ParquetWriter): Promise<void> {
    const columnData = this.#columns.map(({ name, kind }, n) => {
      return { name, data: this.#values[n] ?? [], statistics: isRanged.has(kind) }
    })
    await parquet.write({ columnData, rowGroupSize: GROUP_ROWS })
  }
}

/** More rows than a file may have. */
export class TooManyRowsError extends Error {
  override readonly name = 'TooManyRowsError'
}

/**
 * Writes a file of rows part by part. A file without its end, which comes last, is refused by every reader.
 *
 * @throws TooManyRowsError; RangeError for a value that its column cannot hold; what `pages` and `write` throw
 */
export async function writeParquet(
  write: WritePart,
  columns: readonly LineColumn[],
  pages: AsyncIterable<readonly Cells[]>,
  mostRows: number,
): Promise<{ readonly rows: number; readonly sizeBytes: number }> {
  const writer = new PartWriter(write)
  const parquet = new ParquetWriter({
    writer,
    schema: schemaOf(columns, false),
    createdBy: 'tollgate',
  })
  let rows = 0
  let group = new RowGroup(columns)
  for await (const page of pages)
    for (const row of page) {
      rows += 1
      if (rows > mostRows)
        throw new TooManyRowsError(`more than ${mostRows.toLocaleString('en')} lines`)
      group.add(row)
      if (group.rows < GROUP_ROWS) continue
      await group.writeTo(parquet)
      group = new RowGroup(columns)
    }
  if (group.rows > 0) await group.writeTo(parquet)
  parquet.schema = schemaOf(columns, true)
  await parquet.finish()
  await writer.flush()
  return { rows, sizeBytes: writer.offset }
}
