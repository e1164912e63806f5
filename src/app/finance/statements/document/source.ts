import type { ClosedPeriod, PeriodOf } from '../types.ts'

/** Everything that a document of a month is made of: facts of its events, and nothing of the present. */

/** One of the two parties of a statement. */
export interface Party {
  readonly legalName: string
  /** Lines below the name, without the country. */
  readonly address: readonly string[]
  /** ISO 3166-1, two letters. */
  readonly country: string
  readonly taxId?: string | undefined
  readonly poNumber?: string | undefined
}

/** Usage of a model by a user in the month. */
export interface UserUsage {
  readonly userId: string
  readonly model: string
  readonly lines: number
  /** Exact decimal, without a sign. */
  readonly amount: string
}

export interface StatementSource {
  readonly period: PeriodOf & Pick<ClosedPeriod, 'previous'>
  /** Undefined for a preview, which has no number and no time. */
  readonly issued: Pick<ClosedPeriod, 'statement' | 'closedAt' | 'checkpoint'> | undefined
  readonly voided: { readonly at: string; readonly reason: string } | undefined
  /** Undefined in a preview only, where no profile was set yet. */
  readonly issuer: Party | undefined
  readonly customer: Party | undefined
  readonly language: 'en' | 'zh'
  /** Usage by user and model, where it is wanted. */
  readonly users?: readonly UserUsage[] | undefined
}

export type StatementStatus = 'issued' | 'voided' | 'preview'

export function statementStatusOf({
  issued,
  voided,
}: Pick<StatementSource, 'issued' | 'voided'>): StatementStatus {
  if (issued === undefined) return 'preview'
  return voided === undefined ? 'issued' : 'voided'
}

/** Whether a gateway signed that has no public name: its key says nothing about who it is. */
export function isDemonstration({ issued }: Pick<StatementSource, 'issued'>): boolean {
  return issued?.checkpoint.startsWith('localhost') === true
}
