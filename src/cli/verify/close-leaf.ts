import { toTimestamp } from '../../kernel/clock.ts'
import { readTime } from '../../kernel/read-time.ts'
import { readPico } from './amounts.ts'
import { cellsOf, countIn, POSITION, textIn } from './cells.ts'
import { readHash } from './checkpoint.ts'
import { NotVerifiedError, requireThat, shownText } from './not-verified.ts'

/** Leaf 0 of the tree of a month: the close. */

/** Figures of a close in their order; each is what it added to the balance. */
export const movementNames = [
  'granted_paid',
  'granted_promotional',
  'adjusted_usage',
  'adjusted_grants',
  'expired',
  'settled',
] as const
export type MovementName = (typeof movementNames)[number]

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/
const ZONED_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?(?:Z|[+-]\d\d:\d\d)$/

/** Leaf 0. */
export interface CloseFacts {
  readonly tenant: string
  readonly currency: string
  readonly statement: string
  readonly n: number
  readonly attempt: number
  readonly month: string
  readonly timeZone: string
  readonly from: string
  readonly to: string
  /** Both instants in the form of the times of postings. */
  readonly fromUtc: string
  readonly toUtc: string
  readonly position: string
  readonly opening: string
  readonly movements: Readonly<Record<MovementName, string>>
  readonly closing: string
  readonly postings: number
  readonly late: number
  /** Hashes in base64. */
  readonly previous: string | null
  readonly sums: string
  readonly parties: string
}

const CLOSE_CELLS = 25
const FIRST_FIGURE = 13

function utc(time: string): string {
  const ms = readTime(time)
  if (ms === undefined) throw new NotVerifiedError(`${shownText(time)} is no time`)
  return toTimestamp(ms)
}

/** @throws NotVerifiedError where it is no close, or does not add up */
export function readCloseLeaf(leaf: string): CloseFacts {
  const cells = cellsOf(leaf)
  const [word, version, tenant, currency, statement, n, attempt, month, zone, from, to] = cells
  requireThat(word === 'close' && cells.length === CLOSE_CELLS, 'the leaf is no close')
  requireThat(
    version === 1,
    'the close is of another version of the format: a newer verifier may know it',
  )
  const figures = cells.slice(FIRST_FIGURE, FIRST_FIGURE + movementNames.length)
  const [closing, postings, late, previous, sums, parties] = cells.slice(
    FIRST_FIGURE + movementNames.length,
  )
  const movements = Object.fromEntries(
    movementNames.map((name, index) => [name, textIn(figures[index], name)]),
  ) as Record<MovementName, string>
  const close: CloseFacts = {
    tenant: textIn(tenant, 'tenant'),
    currency: textIn(currency, 'currency', /^(?:CNY|USD)$/),
    statement: textIn(statement, 'number of a statement'),
    n: countIn(n, 'number of a period'),
    attempt: countIn(attempt, 'attempt'),
    month: textIn(month, 'month', MONTH),
    timeZone: textIn(zone, 'time zone'),
    from: textIn(from, 'time', ZONED_TIME),
    to: textIn(to, 'time', ZONED_TIME),
    fromUtc: utc(String(from)),
    toUtc: utc(String(to)),
    position: textIn(cells[11], 'position', POSITION),
    opening: textIn(cells[12], 'amount'),
    movements,
    closing: textIn(closing, 'amount'),
    postings: countIn(postings, 'number of postings'),
    late: countIn(late, 'number of late postings'),
    previous: previous === null ? null : textIn(previous, 'root'),
    sums: textIn(sums, 'hash'),
    parties: textIn(parties, 'hash'),
  }
  checkClose(close)
  return close
}

function checkClose(close: CloseFacts): void {
  const sum = movementNames.reduce(
    (total, name) => total + readPico(close.movements[name]),
    readPico(close.opening),
  )
  requireThat(
    sum === readPico(close.closing),
    'the opening balance and the figures do not add up to the closing balance',
  )
  requireThat(close.fromUtc < close.toUtc, 'the month ends before it begins')
  requireThat(close.late <= close.postings, 'the close has more late postings than postings')
  requireThat(close.n > 0 && close.attempt > 0, 'the number of the period or of the attempt is 0')
  requireThat(
    (close.previous === null) === (close.n === 1),
    close.n === 1 ? 'the first period names a previous one' : 'the close names no previous period',
  )
  for (const hash of [close.sums, close.parties, close.previous]) if (hash !== null) readHash(hash)
}
