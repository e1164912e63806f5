import { Map as ManyEntries } from 'immutable'
import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, parseAmount, type Currency } from '../../kernel/money.ts'
import type { Corrects } from '../pricing/settlement.ts'
import type { AccountEventData } from './events.ts'

/**
 * Bounds of the adjustments of a line or a grant. In total a settled line costs between zero and
 * the settled amount, which is the agreed price; a grant is worth between zero and its amount. A
 * further adjustment with the other sign takes back an earlier one.
 */

/** A settled line of the ledger; it never changes. */
interface SettledLineFacts {
  readonly lineId: string
  readonly tenantId: string
  readonly currency: Currency
  /** Decimal string. */
  readonly amount: string
}

/** The target of an adjustment: a line, which it refunds, or a grant, which it corrects. */
export type AdjustmentTarget =
  | { readonly kind: 'line'; readonly line: SettledLineFacts }
  | { readonly kind: 'grant'; readonly grantId: string }

/** The grants and adjustments so far, against which further adjustments are checked. */
export interface Correctable {
  readonly grants: ManyEntries<string, Granted>
  /** Sums of the adjustments in pico, by line or grant. */
  readonly corrected: ManyEntries<string, bigint>
}

type Granted = Pick<AccountEventData<'CreditGranted'>, 'currency' | 'amount'>

export const nothingCorrectable: Correctable = {
  grants: ManyEntries(),
  corrected: ManyEntries(),
}

export function withGrant(
  state: Correctable,
  { grantId, currency, amount }: AccountEventData<'CreditGranted'>,
): Correctable {
  return { ...state, grants: state.grants.set(grantId, { currency, amount }) }
}

export function withCorrection(
  state: Correctable,
  { corrects, amount }: AccountEventData<'AdjustmentPosted'>,
): Correctable {
  const name = nameOf(corrects)
  const sumPico = (state.corrected.get(name) ?? 0n) + parseAmount(amount)
  return { ...state, corrected: state.corrected.set(name, sumPico) }
}

/** Sum of the adjustments of a line or a grant so far, in pico. */
export function correctedPico({ corrected }: Correctable, corrects: Corrects): bigint {
  return corrected.get(nameOf(corrects)) ?? 0n
}

/** Reads from the event of an adjustment which line or grant it adjusts. */
export function correctsOf(correction: AdjustmentTarget): Corrects {
  return correction.kind === 'line'
    ? { kind: 'line', lineId: correction.line.lineId }
    : { kind: 'grant', grantId: correction.grantId }
}

/** Names a line or a grant for people and as a key: `line call_1:2`, `grant g1`. */
export function nameOf(corrects: Corrects): string {
  return corrects.kind === 'line' ? `line ${corrects.lineId}` : `grant ${corrects.grantId}`
}

/**
 * Checks that an adjustment names something of this tenant and currency and stays within bounds.
 *
 * @throws DomainError `adjustment_source_invalid`, `adjustment_out_of_bounds`
 */
export function checkCorrection(
  adjustment: {
    readonly tenantId: string
    readonly currency: Currency
    readonly amount: string
    readonly correction: AdjustmentTarget
  },
  state: Correctable,
): void {
  const { tenantId, currency, correction } = adjustment
  const name = nameOf(correctsOf(correction))
  const source = sourceOf(correction, tenantId, state)
  if (source?.tenantId !== tenantId)
    throw new DomainError('adjustment_source_invalid', `tenant ${tenantId} has no ${name}`, {
      source: name,
    })
  if (source.currency !== currency)
    throw new DomainError('adjustment_source_invalid', `${name} is in ${source.currency}`, {
      source: name,
    })
  const originalPico = parseAmount(source.amount)
  const [lowPico, highPico] = correction.kind === 'line' ? [0n, originalPico] : [-originalPico, 0n]
  const beforePico = state.corrected.get(name) ?? 0n
  const afterPico = beforePico + parseAmount(adjustment.amount)
  if (afterPico >= lowPico && afterPico <= highPico) return
  throw new DomainError(
    'adjustment_out_of_bounds',
    `${name} is ${source.amount} ${currency} with adjustments of ${formatAmount(beforePico)} so far: ` +
      `a further adjustment must be from ${formatAmount(lowPico - beforePico)} ` +
      `to ${formatAmount(highPico - beforePico)}`,
    { source: name },
  )
}

function sourceOf(
  correction: AdjustmentTarget,
  tenantId: string,
  state: Correctable,
): Omit<SettledLineFacts, 'lineId'> | undefined {
  if (correction.kind === 'line') return correction.line
  const grant = state.grants.get(correction.grantId)
  return grant && { ...grant, tenantId }
}
