import type { Column, Row, Table } from '../content.ts'
import { type Ink, leadOf, MARGIN, type Sheet, type Style, WIDTH } from './sheet.ts'

/** Sets tables: numbers are never cut, texts take the width that is left, and each page repeats the head. */

/** Space before each column but the first. */
const GAP = 14
/** Sizes that are tried one after the other, until texts and numbers have room in one line. */
const SIZES = [9, 8, 7, 6, 5]
const LEAST_TEXT = 110

interface Setting {
  readonly sheet: Sheet
  readonly columns: readonly Column[]
  readonly size: number
  /** Where each column begins and ends. */
  readonly edges: readonly { readonly x: number; readonly right: number }[]
}

const rowStyles: Readonly<
  Record<Row['kind'], { readonly above: number; readonly below: number; readonly line: Ink }>
> = {
  plain: { above: 4, below: 3.5, line: 'faint' },
  group: { above: 10, below: 3.5, line: 'line' },
  balance: { above: 7, below: 6.5, line: 'ink' },
  nothing: { above: 10, below: 9.5, line: 'faint' },
}

function styleOf({ kind }: Row, column: Column['kind'], size: number): Style {
  if (column === 'exact') return { size: size - 0.75, ink: 'quiet' }
  if (kind === 'nothing') return { size, ink: 'quiet' }
  return { size, isBold: kind === 'group' || kind === 'balance' }
}

/** The cells of a row with the columns in which they are. */
function cellsOf({ cells }: Row, columns: readonly Column[]) {
  const missing = columns.length - cells.length
  return cells.map((text, n) => {
    const column = n === 0 ? 0 : n + missing
    const kind = n === 0 ? 'text' : (columns[column]?.kind ?? 'text')
    return { text, column, kind, isWide: n === 0 && missing > 0 }
  })
}

/** The widest cell of each column; a cell over several columns counts for none. */
function widestOf(sheet: Sheet, { columns, bodies }: Table, size: number): readonly number[] {
  const widths = columns.map(({ title }) => sheet.widthOf(title, { size: size - 1 }))
  for (const row of bodies.flat())
    for (const { text, column, kind, isWide } of cellsOf(row, columns)) {
      if (isWide) continue
      const width = sheet.widthOf(text, styleOf(row, kind, size))
      widths[column] = Math.max(widths[column] ?? 0, width)
    }
  return widths
}

/** Shares a width among texts: one that needs less than its share leaves the rest to the others. */
function shared(widest: readonly number[], width: number): readonly number[] {
  const small = widest.filter((each) => each <= width / widest.length)
  if (small.length === 0 || small.length === widest.length) {
    const wanted = widest.reduce((sum, each) => sum + each, 0)
    return widest.map((each) => (width * each) / (wanted || 1))
  }
  const left = width - small.reduce((sum, each) => sum + each, 0)
  const large = widest.filter((each) => each > width / widest.length)
  const shares = [...shared(large, left)]
  return widest.map((each) => (each <= width / widest.length ? each : (shares.shift() ?? 0)))
}

function settingOf(sheet: Sheet, table: Table): Setting {
  const { columns } = table
  const texts = columns.filter(({ kind }) => kind === 'text').length
  const least = texts * LEAST_TEXT
  let size = SIZES[0] ?? 0
  let widest = widestOf(sheet, table, size)
  const left = (): number =>
    widest.reduce(
      (width, each, n) => (columns[n]?.kind === 'text' ? width : width - each),
      WIDTH - GAP * (columns.length - 1),
    )
  for (const smaller of SIZES.slice(1)) {
    if (left() >= least) break
    size = smaller
    widest = widestOf(sheet, table, size)
  }
  const ofTexts = widest.filter((_, n) => columns[n]?.kind === 'text')
  const shares = [...shared(ofTexts, left())]
  let x = MARGIN
  const edges = columns.map(({ kind }, n) => {
    const width = kind === 'text' ? (shares.shift() ?? 0) : (widest[n] ?? 0)
    const edge = { x, right: x + width }
    x += width + GAP
    return edge
  })
  return { sheet, columns, size, edges }
}

function setHead({ sheet, columns, size, edges }: Setting): void {
  const style: Style = { size: size - 1, ink: 'quiet' }
  for (const [n, { title, kind }] of columns.entries()) {
    const { x = 0, right = 0 } = edges[n] ?? {}
    sheet.line(title, style, kind === 'text' ? { x } : { right })
  }
  sheet.y += leadOf(style) + 3
  sheet.rule(sheet.y, 'ink')
}

/** Texts of a row cut to their columns, and its height. */
function layOut({ sheet, columns, size, edges }: Setting, row: Row) {
  const missing = columns.length - row.cells.length
  const cells = cellsOf(row, columns).map(({ text, column, kind, isWide }) => {
    const style = styleOf(row, kind, size)
    const { x = 0, right = 0 } = edges[column] ?? {}
    if (kind !== 'text') return { lines: [text], style, place: { right } }
    const end = isWide ? (edges[missing]?.right ?? 0) : right
    return { lines: sheet.wrap(text, style, end - x), style, place: { x } }
  })
  const { above, below, line } = rowStyles[row.kind]
  const lead = leadOf({ size })
  const most = Math.max(...cells.map(({ lines }) => lines.length))
  return { cells, above, line, lead, height: above + most * lead + below }
}

type LaidOut = ReturnType<typeof layOut>

function setRow({ sheet, size }: Setting, { cells, above, line, lead, height }: LaidOut): void {
  for (const { lines, style, place } of cells)
    for (const [n, text] of lines.entries())
      sheet.line(text, style, { ...place, y: sheet.y + above + n * lead, baseOf: size })
  sheet.y += height
  sheet.rule(sheet.y, line)
}

/** Sets a table; the heading of a group and the last balance are never apart from the row that is next to them. */
export function setTable(sheet: Sheet, table: Table): void {
  const setting = settingOf(sheet, table)
  const rows = table.bodies.flat()
  const laidOut = rows.map((row) => layOut(setting, row))
  const follows = (n: number): boolean =>
    rows[n - 1]?.kind === 'group' || (n === rows.length - 1 && rows[n]?.kind === 'balance')
  const heights = laidOut.map(({ height }) => height)
  for (let n = heights.length - 1; n > 0; n -= 1)
    if (follows(n)) heights[n - 1] = (heights[n - 1] ?? 0) + (heights[n] ?? 0)
  if (!sheet.hasRoom(24 + (heights[0] ?? 0))) sheet.newPage()
  setHead(setting)
  for (const [n, row] of laidOut.entries()) {
    if (!follows(n) && !sheet.hasRoom(heights[n] ?? 0)) {
      sheet.newPage()
      setHead(setting)
    }
    setRow(setting, row)
  }
  // The end of a sum is a double line.
  if (rows.at(-1)?.kind === 'balance') sheet.rule(sheet.y + 2, 'ink')
}
