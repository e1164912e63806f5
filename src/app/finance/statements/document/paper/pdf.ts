import { fromTimestamp } from '../../../../../kernel/clock.ts'
import {
  creditNoteContent,
  type DocumentContent,
  type Fact,
  nameOfDocument,
  type PartyContent,
  type Section,
  statementContent,
} from '../content.ts'
import type { NumberedNote } from '../credit-note.ts'
import type { StatementSource, StatementStatus } from '../source.ts'
import { statementWords } from '../words.ts'
import { Fonts } from './fonts.ts'
import {
  type Ink,
  leadOf,
  MARGIN,
  RUNNING_FOOT,
  RUNNING_HEAD,
  Sheet,
  type Style,
  WIDTH,
} from './sheet.ts'
import { setTable } from './table.ts'

/** A statement on paper. The same statement gives the same bytes: nothing in it is of the moment it is made. */

export interface PaperJob {
  readonly source: StatementSource
  /** One credit note instead of the statement. */
  readonly note?: NumberedNote | undefined
}

const statusInks: Readonly<Record<StatementStatus, Ink>> = {
  issued: 'ink',
  voided: 'bad',
  preview: 'warn',
}
const quiet: Style = { size: 8.5, ink: 'quiet' }
const small: Style = { size: 8.5 }
const body: Style = { size: 9 }
const GUTTER = 18

const capitals = (word: string): string => word.toLocaleUpperCase('en')

let fonts: Fonts | undefined

/** Renders a statement, or one of its credit notes, as PDF. */
export function statementPdf({ source, note }: PaperJob): Promise<Buffer> {
  const content = note === undefined ? statementContent(source) : creditNoteContent(source, note)
  const sheet = new Sheet((fonts ??= new Fonts()), optionsOf(content, source), (page, n) =>
    openPage(page, n, content),
  )
  setTop(sheet, content)
  setParties(sheet, content)
  setTable(sheet, content.movements)
  for (const section of content.sections) setSection(sheet, section)
  if (content.users !== undefined) {
    sheet.newPage()
    setTitle(sheet, content.users.title)
    sheet.y += 3
    setTable(sheet, content.users.table)
  }
  const { pageOf } = statementWords[content.language]
  return sheet.finish((page, pages) => setFoot(sheet, content, pageOf(page, pages)))
}

function optionsOf(content: DocumentContent, { issued, voided, period, issuer }: StatementSource) {
  // A preview has no time: the start of its month stands for it.
  const madeAt = new Date(fromTimestamp(voided?.at ?? issued?.closedAt ?? period.from))
  return {
    lang: content.language,
    info: {
      Title: nameOfDocument(content, period.currency),
      ...(issuer === undefined ? {} : { Author: issuer.legalName }),
      Creator: 'Tollgate',
      Producer: 'Tollgate',
      CreationDate: madeAt,
      ModDate: madeAt,
    },
  }
}

/** The watermark of a void document; its name and status again on all pages but the first. */
function openPage(sheet: Sheet, page: number, content: DocumentContent): void {
  const { status, stamp, title, number, month, customer } = content
  if (status === 'voided' && stamp !== undefined)
    sheet.watermark(capitals(stamp), statusInks[status])
  if (page === 1) return
  const name = [title, number, month].filter(Boolean).join(' · ')
  const ofWhom = [stamp, customer.name].filter(Boolean).join(' · ')
  const ink = status === 'issued' ? 'quiet' : statusInks[status]
  const half = (WIDTH - GUTTER) / 2
  const [left = ''] = sheet.wrap(name, quiet, half)
  const [right = ''] = sheet.wrap(ofWhom, quiet, half)
  sheet.line(left, quiet, { x: MARGIN, y: RUNNING_HEAD })
  sheet.line(right, { ...quiet, ink }, { right: MARGIN + WIDTH, y: RUNNING_HEAD })
  sheet.rule(RUNNING_HEAD + 14, 'line')
}

function setFoot(sheet: Sheet, { notice, demonstration }: DocumentContent, page: string): void {
  sheet.rule(RUNNING_FOOT - 6, 'line')
  sheet.line(notice, quiet, { x: MARGIN, y: RUNNING_FOOT })
  sheet.line(page, quiet, { right: MARGIN + WIDTH, y: RUNNING_FOOT })
  if (demonstration !== undefined)
    sheet.line(demonstration, { size: 7, ink: 'warn' }, { x: MARGIN, y: RUNNING_FOOT + 12 })
}

/** The title with its status, and the boxes that say what is not as usual. */
function setTop(sheet: Sheet, content: DocumentContent): void {
  const { month, title, notice, status, stamp, demonstration, voided } = content
  if (stamp !== undefined)
    sheet.stamp(capitals(stamp), {
      size: 17,
      isBold: true,
      ink: statusInks[status],
    })
  sheet.line(month, { size: 11, isBold: true, ink: 'accent' }, { x: MARGIN })
  sheet.y += 15
  sheet.line(title, { size: 20, isBold: true }, { x: MARGIN })
  sheet.y += 30
  sheet.line(notice, { ...body, ink: 'quiet' }, { x: MARGIN })
  sheet.y += 19
  sheet.rule(sheet.y, 'accent', 2.2)
  sheet.y += 12
  if (voided !== undefined) setBox(sheet, `${voided.name} ${voided.value}`, 'bad')
  if (demonstration !== undefined) setBox(sheet, demonstration, 'warn')
  sheet.y += 4
}

function setBox(sheet: Sheet, text: string, ink: Ink): void {
  const lines = sheet.wrap(text, body, WIDTH - 22)
  const height = lines.length * leadOf(body) + 11
  sheet.box({ x: MARGIN, y: sheet.y, width: WIDTH, height }, 'warned')
  sheet.box({ x: MARGIN, y: sheet.y, width: 3, height }, ink)
  for (const [n, line] of lines.entries())
    sheet.line(line, body, { x: MARGIN + 12, y: sheet.y + 5 + n * leadOf(body) })
  sheet.y += height + 8
}

function setTitle(sheet: Sheet, title: string): void {
  sheet.line(title, { size: 9.5, isBold: true, ink: 'quiet' }, { x: MARGIN })
  sheet.y += 18
}

/** Both parties and the facts, one next to the other. */
function setParties(sheet: Sheet, { issuer, customer, facts }: DocumentContent): void {
  const top = sheet.y
  const factsWidth = widthOfFacts(sheet, facts)
  const width = (WIDTH - factsWidth - 2 * GUTTER) / 2
  const ends = [issuer, customer].map((party, n) => {
    sheet.y = top
    setParty(sheet, party, { x: MARGIN + n * (width + GUTTER), width })
    return sheet.y
  })
  sheet.y = top
  setFacts(sheet, facts, { x: MARGIN + WIDTH - factsWidth, width: factsWidth })
  sheet.y = Math.max(...ends, sheet.y) + 22
}

function setParty(
  sheet: Sheet,
  { title, name, lines, account }: PartyContent,
  column: { readonly x: number; readonly width: number },
): void {
  sheet.line(title, quiet, { x: column.x })
  sheet.y += 13
  if (name !== undefined) sheet.paragraph(name, { ...body, isBold: true }, column)
  for (const line of lines) sheet.paragraph(line, body, column)
  if (account === undefined) return
  sheet.y += 4
  sheet.paragraph(account, quiet, column)
}

const FACT_GAP = 12

function widthOfNames(sheet: Sheet, facts: readonly Fact[]): number {
  return Math.max(...facts.map(({ name }) => sheet.widthOf(name, small)))
}

/** A column gets the width that its values need, but no more than two fifths of the page. */
function widthOfFacts(sheet: Sheet, facts: readonly Fact[]): number {
  const values = Math.max(...facts.map(({ value }) => sheet.widthOf(value, small)))
  return Math.min(widthOfNames(sheet, facts) + FACT_GAP + values, WIDTH * 0.42)
}

function setFacts(sheet: Sheet, facts: readonly Fact[], { x = MARGIN, width = WIDTH } = {}): void {
  const names = widthOfNames(sheet, facts) + FACT_GAP
  for (const { name, value } of facts) {
    sheet.line(name, { ...small, ink: 'quiet' }, { x })
    sheet.paragraph(value, small, { x: x + names, width: width - names })
    sheet.y += 2.5
  }
}

function setSection(sheet: Sheet, { title, words, table, facts, signed }: Section): void {
  sheet.y += 24
  const ofFacts = (facts?.length ?? 0) * (leadOf(small) + 2.5)
  sheet.keepTogether(17 + (table === undefined ? ofFacts : 80) + (signed === undefined ? 0 : 110))
  setTitle(sheet, title)
  if (words !== undefined) sheet.paragraph(words, body)
  if (table !== undefined) {
    sheet.y += 6
    setTable(sheet, table)
  }
  if (facts !== undefined) setFacts(sheet, facts)
  if (signed === undefined) return
  sheet.y += 6
  sheet.paragraph(signed.hint, body)
  sheet.y += 6
  setCheckpoint(sheet, signed.checkpoint)
}

function setCheckpoint(sheet: Sheet, checkpoint: string): void {
  const style: Style = { size: 7 }
  const lines = checkpoint
    .trimEnd()
    .split('\n')
    .flatMap((line) => sheet.wrap(line, style, WIDTH - 20))
  const height = lines.length * leadOf(style) + 14
  sheet.keepTogether(height)
  sheet.box({ x: MARGIN, y: sheet.y, width: WIDTH, height }, 'box')
  for (const [n, line] of lines.entries())
    sheet.line(line, style, { x: MARGIN + 10, y: sheet.y + 7 + n * leadOf(style) })
  sheet.y += height
}
