import { parquetMetadata, parquetReadObjects, type SchemaElement } from 'hyparquet'
import { formatAmount } from '../../src/kernel/money.ts'

/** A row of a file: decimals as text, integers and times in milliseconds as `bigint`, all of them exact. */
export type ParquetRow = Readonly<Record<string, string | bigint | null | undefined>>

export interface ParquetContent {
  /** Name, type and meaning of each column. */
  readonly columns: readonly SchemaElement[]
  /** Rows of each row group. */
  readonly groups: readonly number[]
  readonly rows: readonly ParquetRow[]
}

/** The reader makes numbers of decimals: it sees their bytes instead, as it does the text of JSON. */
function withoutMeaning({ converted_type: meaning, ...element }: SchemaElement): SchemaElement {
  delete element.logical_type
  return meaning === 'UTF8' || meaning === 'JSON' ? { ...element, converted_type: 'UTF8' } : element
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const stringFromBytes = (bytes: Uint8Array | undefined) => bytes && decoder.decode(bytes)

function integerOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
}

/** Reads a file of rows. @throws for one that is not whole */
export async function readParquet(bytes: Uint8Array): Promise<ParquetContent> {
  const file = Uint8Array.from(bytes).buffer
  const metadata = parquetMetadata(file)
  const [root, ...columns] = metadata.schema
  const plain = { ...metadata, schema: [root, ...columns.map(withoutMeaning)] as SchemaElement[] }
  const rows = await parquetReadObjects({ file, metadata: plain, parsers: { stringFromBytes } })
  return {
    columns,
    groups: metadata.row_groups.map(({ num_rows: count }) => Number(count)),
    rows: rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          value instanceof Uint8Array ? formatAmount(integerOf(value)) : (value as string | bigint),
        ]),
      ),
    ),
  }
}
