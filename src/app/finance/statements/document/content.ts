import type { NumberedNote } from './credit-note.ts'
import {
  isDemonstration,
  type Party,
  type StatementSource,
  type StatementStatus,
  statementStatusOf,
} from './source.ts'
import { type Statement, statementOf, type StatementRow, sumShown } from './statement.ts'
import { type StatementWords, statementWords } from './words.ts'

/** The content of statements and credit notes in the reader's language, which is the same on a screen and on paper. */

export interface Fact {
  readonly name: string
  readonly value: string
}

export interface Column {
  readonly title: string
  /** An exact amount stands behind the one that is shown in cents. */
  readonly kind: 'text' | 'number' | 'exact'
}

export interface Row {
  readonly kind: 'plain' | 'group' | 'balance' | 'nothing'
  /** The last cells belong to the last columns; the first one reaches over the columns that have none. */
  readonly cells: readonly string[]
}

export interface Table {
  readonly columns: readonly Column[]
  /** Rows that belong together. */
  readonly bodies: readonly (readonly Row[])[]
}

/** A part below the movements; members that are missing are not shown. */
export interface Section {
  readonly title: string
  readonly words?: string
  readonly table?: Table
  readonly facts?: readonly Fact[]
  /** The signed head, and how it is used. */
  readonly signed?: { readonly hint: string; readonly checkpoint: string }
}

export interface PartyContent {
  readonly title: string
  /** Undefined in a preview without a profile. */
  readonly name: string | undefined
  readonly lines: readonly string[]
  readonly account: string | undefined
}

export interface DocumentContent {
  readonly language: StatementSource['language']
  readonly status: StatementStatus
  /** The word of a status that is not `issued`. */
  readonly stamp: string | undefined
  readonly month: string
  readonly title: string
  /** Undefined in a preview. */
  readonly number: string | undefined
  readonly notice: string
  readonly demonstration: string | undefined
  readonly issuer: PartyContent
  readonly customer: PartyContent
  readonly facts: readonly Fact[]
  /** When and why it was voided. */
  readonly voided: Fact | undefined
  readonly movements: Table
  readonly sections: readonly Section[]
  /** Usage by user and model, as a page after the rest. */
  readonly users: (Section & { readonly table: Table }) | undefined
}

/** A number with its thousands apart, and with the sign that lines up with digits. */
function withThousands(amount: string): string {
  const [whole = '', fraction] = amount.replace('-', '').split('.')
  const first = whole.length % 3
  const threes = whole.slice(first).match(/\d{3}/g) ?? []
  const grouped = [...(first === 0 ? [] : [whole.slice(0, first)]), ...threes].join(',')
  return `${amount.startsWith('-') ? '−' : ''}${grouped}${fraction === undefined ? '' : `.${fraction}`}`
}

/** An RFC 3339 time as people read it: `2026-11-01 00:00:00 +08:00`. */
function instant(time: string): string {
  return time
    .replace('T', ' ')
    .replace(/(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/, ' $1')
    .replace(' Z', ' UTC')
}

function partyOf(
  title: string,
  of: Party | undefined,
  words: StatementWords,
  account?: string,
): PartyContent {
  if (of === undefined) return { title, name: undefined, lines: [], account }
  const { legalName: name, address, country, taxId, poNumber } = of
  const numbers = [
    ...(taxId === undefined ? [] : [`${words.taxId}: ${taxId}`]),
    ...(poNumber === undefined ? [] : [`${words.poNumber}: ${poNumber}`]),
  ]
  return { title, name, lines: [...address, country, ...numbers], account }
}

function nameOf({ kind, key }: StatementRow, words: StatementWords): string {
  if (kind !== 'usage') return words.rows[kind]
  return key === 'other' ? words.otherSkus : key
}

function groupOf(
  title: string,
  rows: readonly StatementRow[],
  words: StatementWords,
): readonly (readonly Row[])[] {
  if (rows.length === 0) return []
  const plain = rows.map((row): Row => {
    const { quantity, unit, exact, shown } = row
    const amount = quantity === null ? '' : `${withThousands(String(quantity))} ${unit ?? ''}`
    const cells = [nameOf(row, words), amount.trim(), withThousands(exact), withThousands(shown)]
    return { kind: 'plain', cells }
  })
  return [[{ kind: 'group', cells: [title, withThousands(sumShown(rows))] }, ...plain]]
}

function balanceOf(title: string, exact: string, shown: string): readonly Row[] {
  return [{ kind: 'balance', cells: [title, withThousands(exact), withThousands(shown)] }]
}

function movementsOf(statement: Statement, currency: string, words: StatementWords): Table {
  const { rows, opening, closing, exact } = statement
  const usage = rows.filter(({ kind }) => kind === 'usage')
  const credit = rows.filter(({ kind }) => kind !== 'usage')
  const nothing: readonly Row[] = [{ kind: 'nothing', cells: [words.nothing] }]
  return {
    columns: [
      { title: words.description, kind: 'text' },
      { title: words.quantity, kind: 'number' },
      { title: words.exact, kind: 'exact' },
      { title: `${words.amount} (${currency})`, kind: 'number' },
    ],
    bodies: [
      balanceOf(words.opening, exact.opening, opening),
      ...groupOf(words.usage, usage, words),
      ...groupOf(words.credit, credit, words),
      ...(rows.length > 0 ? [] : [nothing]),
      balanceOf(words.closing, exact.closing, closing),
    ],
  }
}

function creditNotesOf({ creditNotes }: Statement, words: StatementWords): readonly Section[] {
  if (creditNotes.length === 0) return []
  const rows = creditNotes.map(({ number, statement, postings, exact, shown }): Row => {
    const amounts = [String(postings), withThousands(exact), withThousands(shown)]
    const cells = [number ?? '', statement ?? words.noEarlierStatement, ...amounts]
    return { kind: 'plain', cells }
  })
  const columns: readonly Column[] = [
    { title: words.number, kind: 'text' },
    { title: words.refundedStatement, kind: 'text' },
    { title: words.postings, kind: 'number' },
    { title: words.exact, kind: 'exact' },
    { title: words.amount, kind: 'number' },
  ]
  const table = { columns, bodies: [rows] }
  return [{ title: words.creditNotes, words: words.creditNotesFor, table }]
}

function proofOf({ period, issued }: StatementSource, words: StatementWords): readonly Section[] {
  const { accruals, postings, late, position } = period
  const signed =
    issued === undefined ? {} : { signed: { hint: words.proofHint, checkpoint: issued.checkpoint } }
  const atEnd = [
    { name: words.held, value: withThousands(accruals.held) },
    { name: words.unstated, value: withThousands(accruals.unstated) },
  ]
  const facts = [
    { name: words.postings, value: withThousands(String(postings)) },
    { name: words.late, value: withThousands(String(late)) },
    { name: words.position, value: position },
  ]
  return [
    { title: words.accruals, facts: atEnd },
    { title: words.proof, facts, ...signed },
  ]
}

function usersOf(
  users: NonNullable<StatementSource['users']>,
  words: StatementWords,
): DocumentContent['users'] {
  const rows = users.map(({ userId, model, lines, amount }): Row => {
    const cells = [userId, model, withThousands(String(lines)), withThousands(amount)]
    return { kind: 'plain', cells }
  })
  const columns: readonly Column[] = [
    { title: words.user, kind: 'text' },
    { title: words.model, kind: 'text' },
    { title: words.lines, kind: 'number' },
    { title: words.exact, kind: 'number' },
  ]
  return { title: words.byUser, table: { columns, bodies: [rows] } }
}

/** The parts that both kinds of documents have. */
function headOf(source: StatementSource, words: StatementWords) {
  const { period, issued, voided, language } = source
  const status = statementStatusOf(source)
  const stamps = { issued: undefined, voided: words.voided, preview: words.preview }
  const account = `${words.tenant}: ${period.tenantId}`
  const facts: readonly Fact[] = [
    { name: words.period, value: instant(period.from) },
    { name: words.until, value: instant(period.to) },
    { name: words.timeZone, value: period.timeZone },
    { name: words.currency, value: period.currency },
    ...(issued === undefined ? [] : [{ name: words.closedAt, value: instant(issued.closedAt) }]),
  ]
  return {
    language,
    status,
    stamp: stamps[status],
    month: period.month,
    demonstration: isDemonstration(source) ? words.demonstration : undefined,
    issuer: partyOf(words.issuer, source.issuer, words),
    customer: partyOf(words.customer, source.customer, words, account),
    facts,
    voided: voided && { name: words.voidedAt, value: `${instant(voided.at)}: ${voided.reason}` },
  }
}

const numberFact = (number: string | undefined, words: StatementWords): readonly Fact[] =>
  number === undefined ? [] : [{ name: words.number, value: number }]

/** The content of a statement. */
export function statementContent(source: StatementSource): DocumentContent {
  const words = statementWords[source.language]
  const statement = statementOf(source.period)
  const number = source.issued?.statement
  const head = headOf(source, words)
  return {
    ...head,
    title: words.title,
    number,
    notice: words.noInvoice,
    facts: [...numberFact(number, words), ...head.facts],
    movements: movementsOf(statement, source.period.currency, words),
    sections: [...creditNotesOf(statement, words), ...proofOf(source, words)],
    users: source.users && usersOf(source.users, words),
  }
}

/** The content of one credit note of a month, which is a separate document. */
export function creditNoteContent(source: StatementSource, note: NumberedNote): DocumentContent {
  const words = statementWords[source.language]
  const { number, statement, postings, exact, shown } = note
  const head = headOf(source, words)
  const posted = source.issued?.statement
  const cells = [
    `${words.rows.adjusted_usage} (${statement})`,
    String(postings),
    withThousands(exact),
    withThousands(shown),
  ]
  return {
    ...head,
    title: words.creditNote,
    number,
    notice: words.noTaxDocument,
    facts: [
      ...numberFact(number, words),
      { name: words.refundedStatement, value: statement },
      ...(posted === undefined ? [] : [{ name: words.postedWith, value: posted }]),
      ...head.facts,
    ],
    movements: {
      columns: [
        { title: words.description, kind: 'text' },
        { title: words.postings, kind: 'number' },
        { title: words.exact, kind: 'exact' },
        { title: `${words.amount} (${source.period.currency})`, kind: 'number' },
      ],
      bodies: [[{ kind: 'balance', cells }]],
    },
    sections: [],
    users: undefined,
  }
}

/** The name of a document, for the title of a page or a file. */
export function nameOfDocument(
  { title, number, month }: DocumentContent,
  currency: string,
): string {
  return [title, number, month, currency].filter(Boolean).join(' ')
}
