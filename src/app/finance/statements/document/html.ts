import {
  type Column,
  creditNoteContent,
  type DocumentContent,
  type Fact,
  nameOfDocument,
  type PartyContent,
  type Row,
  type Section,
  statementContent,
  type Table,
} from './content.ts'
import type { NumberedNote } from './credit-note.ts'
import { type Markup, markup, none } from './markup.ts'
import type { StatementSource } from './source.ts'
import { statementStyle } from './style.ts'

/** A statement as one page of HTML for a customer: it prints, and has no script and nothing from elsewhere. */

function factList(facts: readonly Fact[]): Markup {
  return markup`<dl>${facts.map(({ name, value }) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

function party({ title, name, lines, account }: PartyContent): Markup {
  const more = account === undefined ? none : markup`<p class="account">${account}</p>`
  if (name === undefined) return markup`<section class="party"><h2>${title}</h2>${more}</section>`
  const below = lines.map((line) => markup`<br>${line}`)
  return markup`<section class="party"><h2>${title}</h2>
<address><strong>${name}</strong>${below}</address>${more}</section>`
}

function head(content: DocumentContent): Markup {
  const { status, stamp, month, title, notice, demonstration, issuer, customer, facts, voided } =
    content
  const stamped = stamp === undefined ? none : markup`<p class="stamp ${status}">${stamp}</p>`
  return markup`<header><div><p class="month">${month}</p><h1>${title}</h1>
<p class="notice">${notice}</p></div>${stamped}</header>
${demonstration === undefined ? none : markup`<p class="demonstration">${demonstration}</p>`}
<div class="parties">${party(issuer)}
${party(customer)}
${factList([...facts, ...(voided === undefined ? [] : [voided])])}</div>`
}

const classes: Readonly<Record<Column['kind'], string>> = {
  text: '',
  number: 'number',
  exact: 'number exact',
}

/** The first cell of a row is a header, except in plain rows. */
function rowOf({ kind, cells }: Row, columns: readonly Column[]): Markup {
  const missing = columns.length - cells.length
  const [first = '', ...further] = cells
  const span = missing === 0 ? none : markup` colspan="${missing + 1}"`
  const rest = further.map((cell, n) => {
    const of = classes[columns[n + 1 + missing]?.kind ?? 'text']
    const classed = of === '' ? none : markup` class="${of}"`
    if (kind === 'group') return markup`<th${classed}>${cell}</th>`
    return markup`<td${classed}>${cell}</td>`
  })
  if (kind === 'plain') return markup`<tr><td>${first}</td>${rest}</tr>\n`
  if (kind === 'nothing') return markup`<tr><td${span} class="nothing">${first}</td></tr>\n`
  const scope = kind === 'group' ? 'rowgroup' : 'row'
  return markup`<tr class="${kind}"><th scope="${scope}"${span}>${first}</th>${rest}</tr>\n`
}

function table({ columns, bodies }: Table): Markup {
  const titles = columns.map(({ title, kind }) =>
    kind === 'text' ? markup`<th>${title}</th>` : markup`<th class="number">${title}</th>`,
  )
  const rows = bodies.map(
    (body) => markup`<tbody>${body.map((row) => rowOf(row, columns))}</tbody>\n`,
  )
  return markup`<table><thead><tr>${titles}</tr></thead>\n${rows}</table>`
}

function section(
  { title, words, table: rows, facts, signed }: Section,
  attributes: Markup = none,
): Markup {
  return markup`<section${attributes}><h2>${title}</h2>
${words === undefined ? none : markup`<p>${words}</p>`}
${rows === undefined ? none : table(rows)}${facts === undefined ? none : factList(facts)}
${signed === undefined ? none : markup`<p>${signed.hint}</p><pre>${signed.checkpoint}</pre>`}</section>\n`
}

function page(content: DocumentContent, currency: string): string {
  const { language, status, stamp, movements, sections, notice, users } = content
  return markup`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${nameOfDocument(content, currency)}</title><style>${statementStyle}</style></head>
<body class="${status}"><main>
${status === 'voided' ? markup`<p class="watermark">${stamp ?? ''}</p>` : none}${head(content)}
${table(movements)}
${sections.map((each) => section(each))}<footer>${notice}</footer>
${users === undefined ? none : section(users, markup` class="users"`)}
</main></body></html>
`.text
}

/** Renders a statement as a page of HTML. */
export function statementPage(source: StatementSource): string {
  return page(statementContent(source), source.period.currency)
}

/** Renders one credit note of a month as a separate page. */
export function creditNotePage(source: StatementSource, note: NumberedNote): string {
  return page(creditNoteContent(source, note), source.period.currency)
}
