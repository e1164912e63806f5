import t from 'tap'
import { type Cells, lineCell } from '../../../../projections/ledger/query.ts'
import { lineFileColumns } from '../../../../src/app/finance/line-files/columns.ts'
import {
  GROUP_ROWS,
  TooManyRowsError,
  writeParquet,
} from '../../../../src/app/finance/line-files/parquet.ts'
import { readParquet } from '../../../helpers/parquet.ts'

const usual = {
  settled_at: '2026-03-04T05:06:07.001000Z',
  quantity: '108900',
  price: '46',
  per: '1000000',
  amount: '5.0094',
  position: '18',
  adjusted: '0',
  net: '5.0094',
}
const absent = new Set(
  lineFileColumns.filter((column) => column.isNullable).map(({ name }) => name),
)

/** Cells of a line as the ledger has them. */
function line(cells: Partial<Record<keyof typeof lineCell, string | null>> = {}): Cells {
  const row: (string | null)[] = []
  for (const [name, at] of Object.entries(lineCell)) row[at] = absent.has(name) ? null : name
  for (const [name, cell] of Object.entries({ ...usual, ...cells }))
    row[lineCell[name as keyof typeof lineCell]] = cell
  return row
}

async function* pagesOf(rows: readonly Cells[], size = 1_000): AsyncGenerator<readonly Cells[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}

async function written(rows: readonly Cells[], mostRows = 1_000_000) {
  const parts: Buffer[] = []
  // The bytes of a part change once it is written.
  const take = (bytes: Uint8Array): Promise<void> => {
    parts.push(Buffer.from(bytes))
    return Promise.resolve()
  }
  const made = await writeParquet(take, lineFileColumns, pagesOf(rows), mostRows)
  return { made, parts, bytes: Buffer.concat(parts) }
}

t.test('every column has the type of what is in it', async (t) => {
  const { made, bytes } = await written([line(), line({ tags: '{"b":"1","10":"x"}' })])
  const { columns, rows } = await readParquet(bytes)
  t.same(made, { rows: 2, sizeBytes: bytes.length })
  t.same(
    columns.map(({ name }) => name),
    lineFileColumns.map(({ name }) => name),
  )
  const named = Object.fromEntries(columns.map((column) => [column.name, column]))
  t.match(named['amount'], {
    type: 'FIXED_LEN_BYTE_ARRAY',
    type_length: 16,
    converted_type: 'DECIMAL',
    precision: 38,
    scale: 12,
    repetition_type: 'REQUIRED',
  })
  t.match(named['settled_at'], {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { isAdjustedToUTC: true },
  })
  t.match(named['quantity'], { type: 'INT64', repetition_type: 'REQUIRED' })
  t.match(named['tags'], { converted_type: 'JSON', repetition_type: 'OPTIONAL' })
  t.match(named['line_id'], { converted_type: 'UTF8', logical_type: { type: 'STRING' } })
  t.match(rows[0], {
    line_id: 'line_id',
    settled_at: BigInt(Date.parse('2026-03-04T05:06:07.001Z')),
    quantity: 108_900n,
    per: 1_000_000n,
    amount: '5.0094',
    native_id: null,
    hash: 'hash',
  })
  t.equal(rows[0]?.['tags'], null)
  t.equal(rows[1]?.['tags'], '{"b":"1","10":"x"}', 'the text of JSON is kept as it is')
})

t.test('numbers are exact at both ends of what the ledger may have', async (t) => {
  const most = `${'9'.repeat(26)}.${'9'.repeat(12)}`
  const amounts = ['0', '-0.000000000001', '9007199254740993.000000000001', most, `-${most}`]
  const { bytes } = await written([
    ...amounts.map((amount) => line({ amount, price: '0' })),
    line({ quantity: '9007199254740993', position: String(2n ** 63n - 1n) }),
    line({ position: String(-(2n ** 63n)), account_prices: '2147483648' }),
  ])
  const { rows } = await readParquet(bytes)
  t.same(
    rows.slice(0, amounts.length).map((row) => row['amount']),
    amounts,
  )
  t.match(rows.at(-2), { quantity: 9_007_199_254_740_993n, position: 2n ** 63n - 1n })
  t.match(rows.at(-1), { position: -(2n ** 63n), account_prices: 2_147_483_648n })
})

t.test('a value that its column cannot hold ends the file without its end', async (t) => {
  const cases: readonly (readonly [Parameters<typeof line>[0], RegExp])[] = [
    [{ quantity: String(2n ** 63n) }, /quantity 9223372036854775808 is more than/],
    [{ position: String(-(2n ** 63n) - 1n) }, /position/],
    [{ amount: `1${'0'.repeat(26)}` }, /not a decimal/],
    [{ amount: '0.0000000000001' }, /more than 12 decimals/],
    [{ amount: 'NaN' }, /not a decimal/],
    [{ amount: null }, /no amount/],
  ]
  for (const [cells, words] of cases) await t.rejects(written([line(cells)]), words)
})

t.test('texts are kept whatever they hold', async (t) => {
  const texts = ['', 'a\u0000b', '😀', '=1+1', '"\r\n', 'ab', '\uFEFFx', '字'.repeat(65_536)]
  const { bytes } = await written(
    texts.map((text) => line({ end_user: text, tags: JSON.stringify({ k: text }) })),
  )
  const { rows } = await readParquet(bytes)
  t.same(
    rows.map((row) => row['end_user']),
    texts,
  )
  t.same(
    rows.map((row) => (JSON.parse(row['tags'] as string) as { k: string }).k),
    texts,
  )
})

t.test('a file without rows is a file', async (t) => {
  const { made, bytes } = await written([])
  t.equal(made.rows, 0)
  const { columns, rows } = await readParquet(bytes)
  t.same([columns.length, rows.length], [lineFileColumns.length, 0])
})

t.test('rows are written in groups, and no beginning is a file', async (t) => {
  const rows = Array.from({ length: GROUP_ROWS + 500 }, (_, n) => line({ line_id: `line_${n}` }))
  const { parts, bytes } = await written(rows)
  const read = await readParquet(bytes)
  t.same(read.groups, [GROUP_ROWS, 500])
  t.same(
    [0, GROUP_ROWS, GROUP_ROWS + 499].map((n) => read.rows[n]?.['line_id']),
    ['line_0', `line_${GROUP_ROWS}`, `line_${GROUP_ROWS + 499}`],
  )
  t.equal(parts.length, 3, 'each group, then the end')
  for (let length = 1; length < parts.length; length += 1)
    await t.rejects(readParquet(Buffer.concat(parts.slice(0, length))), `${length} parts`)
  await t.rejects(readParquet(bytes.subarray(0, -1)))
})

t.test('more rows than a file may have are refused, as many are not', async (t) => {
  const rows = Array.from({ length: 3 }, () => line())
  t.equal((await written(rows, 3)).made.rows, 3)
  await t.rejects(written(rows, 2), new TooManyRowsError('more than 2 lines'))
})
