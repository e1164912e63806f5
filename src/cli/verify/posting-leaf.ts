import { readTime } from '../../kernel/read-time.ts'
import { readPico } from './amounts.ts'
import {
  type Cell,
  cellsOf,
  countIn,
  isCount,
  isText,
  isTextOrNull,
  POSITION,
  textIn,
} from './cells.ts'
import type { MovementName } from './close-leaf.ts'
import { NotVerifiedError, requireThat, shownText } from './not-verified.ts'

/** All other leaves: postings, each with the figure that it is part of. */

/** Any leaf but the first. */
export interface PostingFacts {
  readonly kind: 'line' | 'grant' | 'adjustment' | 'expiry'
  readonly id: string
  readonly tenant: string
  readonly currency: string
  /** UTC with milliseconds. */
  readonly at: string
  readonly position: bigint
  /** Orders lines of one position; 0 for all else. */
  readonly number: number
  readonly figure: MovementName
  /** Adds to the balance. */
  readonly pico: bigint
  /** The usage of a line. */
  readonly usage?:
    | { readonly sku: string; readonly quantity: number; readonly unit: string }
    | undefined
}

/** @throws NotVerifiedError where it is no posting, or a line is not exact */
export function readPostingLeaf(leaf: string): PostingFacts {
  const cells = cellsOf(leaf)
  const [word] = cells
  if (word === 'line') return lineOf(cells)
  if (word === 'grant' || word === 'adjustment' || word === 'expiry') return creditOf(word, cells)
  throw new NotVerifiedError(
    word === 'close'
      ? 'the leaf is the close of a month, not a posting'
      : `the leaf is of no known kind: ${shownText(String(word))}`,
  )
}

const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** @throws NotVerifiedError for another form, or a day that does not exist */
function timeIn(cell: Cell | undefined): string {
  const at = textIn(cell, 'time in UTC with milliseconds', UTC_TIME)
  if (readTime(at) === undefined) throw new NotVerifiedError(`${at} is no time`)
  return at
}

function positionIn(cell: Cell | undefined): bigint {
  return BigInt(textIn(cell, 'position', POSITION))
}

const LINE_CELLS = 22
const MOST_LINE_CELLS = 25
const perOf: ReadonlyMap<unknown, bigint> = new Map([
  [1, 1n],
  [1_000, 1_000n],
  [1_000_000, 1_000_000n],
])

function lineOf(cells: readonly Cell[]): PostingFacts {
  const [, id, at, tenant, user, token, source, native, surface, model, sku, rule] = cells
  const [quantity, unit, price, per, currency, amount, book, measurement, request, position] =
    cells.slice(12)
  const [prices = null, tags = null, endUser = null] = cells.slice(LINE_CELLS)
  const texts = [user, token, source, surface, model, rule, unit, book, request]
  const hasForm =
    cells.length >= LINE_CELLS &&
    cells.length <= MOST_LINE_CELLS &&
    (cells.length === LINE_CELLS || cells.at(-1) !== null) &&
    texts.every((text) => typeof text === 'string') &&
    [native, tags, endUser].every(isTextOrNull) &&
    (prices === null || isCount(prices)) &&
    (measurement === 'reported' || measurement === 'estimated')
  requireThat(hasForm, 'the leaf has not the form of a line')
  const [, ofSource, number] = /^(.*):([1-9]\d{0,8})$/s.exec(textIn(id, 'id of a line')) ?? []
  if (ofSource !== source)
    throw new NotVerifiedError(`${shownText(String(id))} is no id of a line of its call or task`)
  const pico = readPico(amount)
  const divisor = perOf.get(per)
  if (divisor === undefined) throw new NotVerifiedError(`${shownText(String(per))} is no "per"`)
  const used = countIn(quantity, 'quantity')
  requireThat(
    BigInt(used) * readPico(price) === pico * divisor,
    'the amount is not quantity × price ÷ per',
  )
  return {
    kind: 'line',
    id: String(id),
    tenant: textIn(tenant, 'tenant'),
    currency: textIn(currency, 'currency'),
    at: timeIn(at),
    position: positionIn(position),
    number: Number(number),
    figure: 'settled',
    pico: -pico,
    usage: { sku: textIn(sku, 'SKU'), quantity: used, unit: String(unit) },
  }
}

const CREDIT_CELLS = 11

function creditOf(kind: 'grant' | 'adjustment' | 'expiry', cells: readonly Cell[]): PostingFacts {
  const [, id, at, tenant, currency, amount, of, about, code, reason, position] = cells
  const figure = figureOf(kind, of)
  const hasForm =
    cells.length === CREDIT_CELLS &&
    figure !== undefined &&
    isTextOrNull(about) &&
    (kind !== 'adjustment' || isText(about)) &&
    (kind === 'adjustment' ? isTextOrNull(code) : code === null) &&
    (kind === 'expiry' ? about === null && reason === null : typeof reason === 'string')
  requireThat(
    hasForm,
    `the leaf has not the form of ${kind === 'grant' ? 'a grant' : `an ${kind}`}`,
  )
  const pico = readPico(amount)
  requireThat(kind !== 'expiry' || pico < 0n, 'an expiry adds to the balance')
  return {
    kind,
    id: textIn(id, 'id'),
    tenant: textIn(tenant, 'tenant'),
    currency: textIn(currency, 'currency'),
    at: timeIn(at),
    position: positionIn(position),
    number: 0,
    figure,
    pico,
  }
}

function figureOf(kind: string, of: Cell | undefined): MovementName {
  const figures: Readonly<Record<string, MovementName>> = {
    'grant paid': 'granted_paid',
    'grant promotional': 'granted_promotional',
    'adjustment line': 'adjusted_usage',
    'adjustment grant': 'adjusted_grants',
    'expiry null': 'expired',
  }
  const figure = figures[`${kind} ${of}`]
  if (figure === undefined)
    throw new NotVerifiedError(`${shownText(String(of))} is no kind of ${kind}`)
  return figure
}
