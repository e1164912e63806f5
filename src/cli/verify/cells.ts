import { NotVerifiedError, requireThat, shownText } from './not-verified.ts'

/** Leaves are JSON arrays; their members, the cells, are texts, integers and null. */

export type Cell = string | number | null

/** The members of a leaf. @throws NotVerifiedError unless it is the one text of a flat array */
export function cellsOf(text: string): readonly Cell[] {
  let cells: unknown
  try {
    cells = JSON.parse(text)
  } catch {
    throw new NotVerifiedError('the leaf is not JSON')
  }
  if (!Array.isArray(cells)) throw new NotVerifiedError('the leaf is no array')
  const isFlat = cells.every(
    (cell) => cell === null || typeof cell === 'string' || Number.isSafeInteger(cell),
  )
  requireThat(
    isFlat,
    'the leaf has something else than strings, integers within ±(2^53 − 1) and null',
  )
  requireThat(JSON.stringify(cells) === text, 'the leaf is not written as RFC 8785 says')
  return cells as readonly Cell[]
}

/** Where the log has an event. */
export const POSITION = /^(?:0|[1-9]\d{0,19})$/

export const isText = (cell: Cell | undefined): cell is string =>
  typeof cell === 'string' && cell !== ''
export const isTextOrNull = (cell: Cell | undefined): boolean =>
  cell === null || typeof cell === 'string'
export const isCount = (cell: Cell | undefined): cell is number =>
  typeof cell === 'number' && cell >= 0

/** A cell that is a text, of a form where one is given. @throws NotVerifiedError for any other, naming what it should be */
export function textIn(cell: Cell | undefined, name: string, form?: RegExp): string {
  if (isText(cell) && form?.test(cell) !== false) return cell
  throw new NotVerifiedError(`${shownText(String(cell))} is no ${name}`)
}

/** A cell that is an integer from 0 on. @throws NotVerifiedError for any other */
export function countIn(cell: Cell | undefined, name: string): number {
  if (isCount(cell)) return cell
  throw new NotVerifiedError(`${shownText(String(cell))} is no ${name}`)
}
