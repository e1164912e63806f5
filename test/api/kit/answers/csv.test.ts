import * as fc from 'fast-check'
import t from 'tap'
import {
  BYTE_ORDER_MARK,
  csvPages,
  toCsv,
  type CsvRow,
} from '../../../../src/api/kit/answers/csv.ts'
import { readCsv } from '../../../helpers/csv.ts'
import { propertyRuns } from '../../../helpers/property-runs.ts'
import { character } from '../../../helpers/characters.ts'

void t.test('cells are quoted as RFC 4180 says', async (t) => {
  t.equal(
    toCsv([
      ['a', 'b c', 'd,e'],
      ['say "hi"', 'two\r\nlines', null],
    ]),
    'a,b c,"d,e"\r\n"say ""hi""","two\r\nlines",\r\n',
  )
  t.equal(toCsv([[' a', 'b ', '\uFEFFc']]), '" a","b ","\uFEFFc"\r\n', 'and no space is lost')
})

void t.test('a cell that begins with a full-width sign is made text too', async (t) => {
  for (const sign of '＝＋－＠') t.equal(toCsv([[`${sign}1+1`]]), `'${sign}1+1\r\n`)
})

void t.test('a cell a spreadsheet would run is made text; numbers keep their sign', async (t) => {
  const cells = ['=1+1', '+1', '-1+2', '@cmd', '\tx', '|calc', '%x', '  =1', '-1.5', 7, -3, 'a=b']
  t.equal(
    toCsv(cells.map((cell) => [cell])),
    "'=1+1\r\n'+1\r\n'-1+2\r\n'@cmd\r\n'\tx\r\n'|calc\r\n'%x\r\n'  =1\r\n-1.5\r\n7\r\n-3\r\na=b\r\n",
  )
})

void t.test('nor is one a formula where other signs part the cells', async (t) => {
  const cells = ['x;=1+1', 'x\t @cmd', 'x\n-1', 'x; y=1', '1;2', 'x,=1']
  t.equal(
    toCsv(cells.map((cell) => [cell])),
    `x;'=1+1\r\nx\t '@cmd\r\n"x\n'-1"\r\nx; y=1\r\n1;2\r\n"x,=1"\r\n`,
  )
})

/** Texts that readers and spreadsheets are known to misread, and any others. */
const oddText = fc.oneof(
  fc.constantFrom(
    '"',
    '""',
    ',',
    '\r',
    '\n',
    '\r\n',
    '\0',
    '\uFEFF',
    '\uD800',
    '\u2028',
    "'",
    ' ',
    '\t',
    ';',

    '=1+1',
    '+1',
    '-1',
    '-1-1',
    '@a',
    '|a',
    '%a',
    '＝1',
    ' =1',
    '\n=1',
    '"=1',
    '-',
    '1e5',
    '-0.5',
  ),
  fc.string({ unit: character }),
  fc
    .array(fc.constantFrom('"', ',', '\r', '\n', '=', '\0', '\uDC00', 'a', ' '), { maxLength: 6 })
    .map((all) => all.join('')),
)
const runsInSpreadsheets = /^\s*[=+\-@|%＝＋－＠]|^[\t\r\n]/
const armedWithin = /[;\t\r\n][^\S\t\r\n]*(?=[=+\-@|%＝＋－＠])/g
const isNumber = (text: string): boolean => /^-?\d+(?:\.\d+)?$/.test(text)

void t.test('what is written is read back, and no cell of it is a formula', async () => {
  const rows = fc.array(fc.tuple(oddText, oddText, oddText), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(rows, (given) => {
      // As it arrives: half a pair of surrogates has no bytes.
      const arrived = Buffer.from(toCsv(given)).toString()
      const back = readCsv(arrived)
      const wanted = given.map((row) =>
        row.map((cell) => {
          const isArmed = runsInSpreadsheets.test(cell) && !isNumber(cell)
          return Buffer.from(
            (isArmed ? `'${cell}` : cell).replaceAll(armedWithin, "$&'"),
          ).toString()
        }),
      )
      if (JSON.stringify(back) !== JSON.stringify(wanted)) return false
      return back.flat().every((cell) => isNumber(cell) || !runsInSpreadsheets.test(cell))
    }),
    { numRuns: propertyRuns(500) },
  )
})

async function textOf(pages: AsyncIterable<readonly CsvRow[]>, hasMark?: boolean): Promise<string> {
  const parts: string[] = []
  for await (const part of csvPages(['h1', 'h2'], pages, hasMark)) parts.push(part)
  return parts.join('')
}

async function* pagesOf(
  ...pages: readonly (readonly CsvRow[])[]
): AsyncGenerator<readonly CsvRow[]> {
  for (const page of pages) yield await Promise.resolve(page)
}

void t.test('the header comes once, also without rows', async (t) => {
  t.equal(await textOf(pagesOf([['a', 1]], [], [['b', 2]])), 'h1,h2\r\na,1\r\nb,2\r\n')
  t.equal(await textOf(pagesOf([])), 'h1,h2\r\n')
  t.equal(await textOf(pagesOf()), 'h1,h2\r\n')
})

void t.test('a byte order mark comes once, before the header', async (t) => {
  t.equal(
    await textOf(pagesOf([['a', 1]], [['b', 2]]), true),
    `${BYTE_ORDER_MARK}h1,h2\r\na,1\r\nb,2\r\n`,
  )
  t.equal(await textOf(pagesOf(), true), `${BYTE_ORDER_MARK}h1,h2\r\n`)
})
