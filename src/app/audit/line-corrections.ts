import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
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

/** Corrections of the totals by time for lines known to be wrong. */
export class LineCorrections {
  readonly days = new Corrections()
  readonly hours = new Corrections()
  readonly quarters = new Corrections()

  /** Adds one line (1) to the sum of the lines, or removes one (-1). */
  add(line: Expected | AuditedRow, sign: 1n | -1n): void {
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
