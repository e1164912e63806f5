import { DomainError } from '../../../../kernel/errors.ts'
import type { StatementSource } from './source.ts'
import { type CreditNote, statementOf } from './statement.ts'

/** The credit note of a statement and a later month. */
export interface NumberedNote extends CreditNote {
  readonly number: string
  readonly statement: string
}

/** Finds a credit note of a month by its number. @throws DomainError `period_not_found` */
export function creditNoteOf({ period }: StatementSource, number: string): NumberedNote {
  const { creditNotes } = statementOf(period)
  for (const note of creditNotes)
    if (note.number === number && note.statement !== null)
      return { ...note, number, statement: note.statement }
  const numbers = creditNotes.flatMap((note) => note.number ?? [])
  const those = numbers.length === 0 ? 'it has none' : `it has ${numbers.join(', ')}`
  throw new DomainError(
    'period_not_found',
    `${period.month} has no credit note ${number}: ${those}`,
    {
      param: 'credit_note',
    },
  )
}
