import type { Statements } from '../types.ts'
import type { NumberedNote } from './credit-note.ts'
import { type Party, type StatementSource, statementStatusOf } from './source.ts'
import { statementOf } from './statement.ts'

/** A statement as a file for programs, with its proof: `docs/verify.md` says what each member has to be. */

const NOTICE = 'This statement is not a tax invoice.'
const NOTE_NOTICE = 'This credit note is not a tax document.'

function toParty({ legalName, address, country, taxId }: Party) {
  return { legal_name: legalName, address, country, tax_id: taxId ?? null }
}

function partiesShown({ issuer, customer }: StatementSource) {
  const of = customer && { ...toParty(customer), po_number: customer.poNumber ?? null }
  return { issuer: issuer === undefined ? null : toParty(issuer), customer: of ?? null }
}

/** The proof of the figures: the first leaf of the tree, and the rows and parties whose hashes are in it. */
export type CloseProof = Awaited<ReturnType<Statements['proofOfClose']>>

function proofMembers({ leaf, sums: hashed, parties, path, checkpoint }: CloseProof) {
  const [sums, refunds, accruals] = hashed
  return { proof: { leaf, sums, refunds, accruals, parties, path, checkpoint } }
}

/** Writes a statement as JSON; without a proof for a preview. */
export function statementFile(source: StatementSource, proof: CloseProof | undefined): string {
  const { period, issued } = source
  const { opening, closing, exact, rows } = statementOf(period)
  const document = {
    object: 'statement',
    status: statementStatusOf(source),
    notice: NOTICE,
    number: issued?.statement ?? null,
    tenant_id: period.tenantId,
    currency: period.currency,
    month: period.month,
    time_zone: period.timeZone,
    from: period.from,
    to: period.to,
    position: period.position,
    postings: period.postings,
    late: period.late,
    ...partiesShown(source),
    opening,
    closing,
    exact,
    rows: rows.map(({ kind, key, quantity, unit, exact: amount, shown }) => {
      return { kind, key, quantity, unit, exact: amount, shown }
    }),
    refunds: period.refunds.map(({ statement, amount, postings }) => {
      return { statement, amount, postings }
    }),
    accruals: { held: period.accruals.held, unstated: period.accruals.unstated },
    ...(proof === undefined ? {} : proofMembers(proof)),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Writes a credit note as JSON. The statement that it was posted with has its proof. */
export function creditNoteFile(source: StatementSource, note: NumberedNote): string {
  const { period, issued } = source
  const { number, statement, exact, shown, postings } = note
  const document = {
    object: 'credit_note',
    status: statementStatusOf(source),
    notice: NOTE_NOTICE,
    number,
    statement,
    posted_with: issued?.statement ?? null,
    tenant_id: period.tenantId,
    currency: period.currency,
    month: period.month,
    ...partiesShown(source),
    exact,
    shown,
    postings,
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
