import type { NumberedNote } from './credit-note.ts'
import { isDemonstration, type StatementSource, statementStatusOf } from './source.ts'
import { statementOf } from './statement.ts'

/** A statement as a table: the amounts from the opening balance to the last movement add up to the closing one. */

export const statementColumns = [
  'document',
  'status',
  'statement',
  'issuer',
  'customer',
  'tenant_id',
  'month',
  'from',
  'to',
  'time_zone',
  'closed_at',
  'position',
  'currency',
  'kind',
  'key',
  'quantity',
  'unit',
  'credit_note',
  'exact',
  'amount',
] as const

/** A row, by the columns of the table. */
export type StatementTableRow = Readonly<
  Record<(typeof statementColumns)[number], string | number | null>
>

/** The name of the document, for every row: rows are copied one by one. */
function documentName(source: StatementSource): string {
  return `statement, not a tax invoice${isDemonstration(source) ? ', demonstration' : ''}`
}

interface Figures {
  readonly kind: string
  readonly key: string | null
  readonly quantity?: number | null
  readonly unit?: string | null
  readonly creditNote?: string | null
  readonly exact: string
  /** Null for what is not part of the balance. */
  readonly shown: string | null
}

/** Refunds are a row for each statement whose usage was refunded. */
function figuresOf({ period }: StatementSource): readonly Figures[] {
  const { opening, closing, exact, rows, creditNotes } = statementOf(period)
  const notes = creditNotes.map(({ number: creditNote, statement: key, ...amounts }) => {
    return { kind: 'adjusted_usage', key, creditNote, ...amounts }
  })
  const movements = rows.flatMap((row): readonly Figures[] =>
    row.kind === 'adjusted_usage' && notes.length > 0 ? notes : [row],
  )
  const { held, unstated } = period.accruals
  return [
    { kind: 'opening', key: null, exact: exact.opening, shown: opening },
    ...movements,
    { kind: 'closing', key: null, exact: exact.closing, shown: closing },
    { kind: 'held', key: null, exact: held, shown: null },
    { kind: 'unstated', key: null, exact: unstated, shown: null },
  ]
}

/** The rows of a file: of the whole statement, or of one of its credit notes alone. */
export function statementTable(
  source: StatementSource,
  note?: NumberedNote,
): readonly StatementTableRow[] {
  const { period, issued, issuer, customer } = source
  const of = {
    document: documentName(source),
    status: statementStatusOf(source),
    statement: issued?.statement ?? null,
    issuer: issuer?.legalName ?? null,
    customer: customer?.legalName ?? null,
    tenant_id: period.tenantId,
    month: period.month,
    from: period.from,
    to: period.to,
    time_zone: period.timeZone,
    closed_at: issued?.closedAt ?? null,
    position: period.position,
    currency: period.currency,
  }
  return figuresOf(source)
    .filter(({ creditNote }) => note === undefined || creditNote === note.number)
    .map(({ kind, key, quantity = null, unit = null, creditNote = null, exact, shown }) => {
      return { ...of, kind, key, quantity, unit, credit_note: creditNote, exact, amount: shown }
    })
}
