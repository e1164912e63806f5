import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import type { SummedLines } from '../../../projections/ledger/query.ts'
import { parseAmount } from '../../kernel/money.ts'
import type { Expected } from './compare.ts'
import { Corrections } from './corrections.ts'

/** Characters of a UTC time up to its day, and up to its hour with the colon. */
const DAY_CHARACTERS = 10
const HOUR_CHARACTERS = 14

function quarterOf(at: string): string {
  const minute = Number(at.slice(HOUR_CHARACTERS, HOUR_CHARACTERS + 2))
  const begins = String(minute - (minute % 15)).padStart(2, '0')
  return `${at.slice(0, HOUR_CHARACTERS)}${begins}`
}

/** Most lines that are remembered one by one. */
const MAX_LINES = 20_000

type Line = Expected | AuditedRow

/** Whether a line is after those that the totals have: a row by its number, an expected one by its position. */
function isAfter(line: Line, { seq, next }: SummedLines): boolean {
  if ('seq' in line) return BigInt(String(line['seq'])) > seq
  return next !== undefined && BigInt(String(line['position'])) >= next
}

/** Corrections of the totals by time for lines known to be wrong. */
export class LineCorrections {
  readonly days = new Corrections()
  readonly hours = new Corrections()
  readonly quarters = new Corrections()
  readonly #lines: { readonly line: Line; readonly sign: 1n | -1n }[] = []

  /** Adds one line (1) to the sum of the lines, or removes one (-1). */
  add(line: Line, sign: 1n | -1n): void {
    this.#correct(line, sign)
    if (this.#lines.length < MAX_LINES) this.#lines.push({ line, sign })
  }

  /** Takes back what was added for lines that the totals do not have yet: they are not among the lines summed. */
  leaveOut(summed: SummedLines): void {
    for (const { line, sign } of this.#lines)
      if (isAfter(line, summed)) this.#correct(line, sign === 1n ? -1n : 1n)
  }

  #correct(line: Line, sign: 1n | -1n): void {
    const at = String(line['settled_at'])
    const { tenant_id: tenant, currency, sku, unit, model } = line
    const { user_id: user, token_id: token, surface } = line
    const keyOf = (begins: string): string =>
      [tenant, begins, currency, sku, unit, model, user, token, surface].map(String).join('\n')
    const quantity = BigInt(String(line['quantity']))
    const request = String(line['line_id']).endsWith(':1') ? sign : 0n
    const amounts = [request, sign, sign * quantity, sign * parseAmount(String(line['amount']))]
    this.days.add(keyOf(at.slice(0, DAY_CHARACTERS)), amounts)
    this.hours.add(keyOf(`${at.slice(0, HOUR_CHARACTERS)}00`), amounts)
    this.quarters.add(keyOf(quarterOf(at)), amounts)
  }
}
