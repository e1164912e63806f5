import type { NumberedNote } from './credit-note.ts'
import { type Markup, markup, none } from './markup.ts'
import { isDemonstration, type Party, type StatementSource, statementStatusOf } from './source.ts'
import { type Statement, statementOf, type StatementRow, sumShown } from './statement.ts'
import { statementStyle } from './style.ts'
import { type StatementWords, statementWords } from './words.ts'

/** A statement as one page of HTML for a customer: it prints, and has no script and nothing from elsewhere. */

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

function fact(name: string, value: string): Markup {
  return markup`<dt>${name}</dt><dd>${value}</dd>`
}

function party(title: string, of: Party | undefined, words: StatementWords, more: Markup): Markup {
  if (of === undefined) return markup`<section class="party"><h2>${title}</h2>${more}</section>`
  const lines = of.address.map((line) => markup`<br>${line}`)
  const numbers = [
    of.taxId === undefined ? none : markup`<br>${words.taxId}: ${of.taxId}`,
    of.poNumber === undefined ? none : markup`<br>${words.poNumber}: ${of.poNumber}`,
  ]
  return markup`<section class="party"><h2>${title}</h2>
<address><strong>${of.legalName}</strong>${lines}<br>${of.country}${numbers}</address>${more}</section>`
}

interface Named {
  readonly title: string
  readonly number: string | undefined
  readonly notice: string
}

function head(
  source: StatementSource,
  { title, number, notice }: Named,
  words: StatementWords,
  further: readonly Markup[] = [],
): Markup {
  const { period, issued, voided, issuer, customer } = source
  const status = statementStatusOf(source)
  const stamp =
    status === 'issued'
      ? none
      : markup`<p class="stamp ${status}">${status === 'voided' ? words.voided : words.preview}</p>`
  const facts = [
    ...(number === undefined ? [] : [fact(words.number, number)]),
    ...further,
    fact(words.period, instant(period.from)),
    fact(words.until, instant(period.to)),
    fact(words.timeZone, period.timeZone),
    fact(words.currency, period.currency),
    ...(issued === undefined ? [] : [fact(words.closedAt, instant(issued.closedAt))]),
    ...(voided === undefined
      ? []
      : [fact(words.voidedAt, `${instant(voided.at)}: ${voided.reason}`)]),
  ]
  const account = markup`<p class="account">${words.tenant}: ${period.tenantId}</p>`
  return markup`<header><div><p class="month">${period.month}</p><h1>${title}</h1>
<p class="notice">${notice}</p></div>${stamp}</header>
${isDemonstration(source) ? markup`<p class="demonstration">${words.demonstration}</p>` : none}
<div class="parties">${party(words.issuer, issuer, words, none)}
${party(words.customer, customer, words, account)}
<dl>${facts}</dl></div>`
}

function nameOf({ kind, key }: StatementRow, words: StatementWords): string {
  if (kind !== 'usage') return words.rows[kind]
  return key === 'other' ? words.otherSkus : key
}

function row(of: StatementRow, words: StatementWords): Markup {
  const { quantity, unit, exact, shown } = of
  const amount = quantity === null ? '' : `${withThousands(String(quantity))} ${unit ?? ''}`.trim()
  return markup`<tr><td>${nameOf(of, words)}</td><td class="number">${amount}</td>
<td class="number exact">${withThousands(exact)}</td><td class="number">${withThousands(shown)}</td></tr>
`
}

function group(title: string, rows: readonly StatementRow[], words: StatementWords): Markup {
  if (rows.length === 0) return none
  return markup`<tbody><tr class="group"><th scope="rowgroup" colspan="3">${title}</th>
<th class="number">${withThousands(sumShown(rows))}</th></tr>
${rows.map((of) => row(of, words))}</tbody>`
}

function balance(title: string, exact: string, shown: string): Markup {
  return markup`<tbody><tr class="balance"><th scope="row" colspan="2">${title}</th>
<td class="number exact">${withThousands(exact)}</td><td class="number">${withThousands(shown)}</td></tr></tbody>
`
}

function movements(statement: Statement, currency: string, words: StatementWords): Markup {
  const { rows, opening, closing, exact } = statement
  const usage = rows.filter(({ kind }) => kind === 'usage')
  const credit = rows.filter(({ kind }) => kind !== 'usage')
  const nothing =
    rows.length > 0
      ? none
      : markup`<tbody><tr><td colspan="4" class="nothing">${words.nothing}</td></tr></tbody>`
  return markup`<table><thead><tr><th>${words.description}</th><th class="number">${words.quantity}</th>
<th class="number">${words.exact}</th><th class="number">${words.amount} (${currency})</th></tr></thead>
${balance(words.opening, exact.opening, opening)}
${group(words.usage, usage, words)}${group(words.credit, credit, words)}${nothing}
${balance(words.closing, exact.closing, closing)}</table>`
}

function creditNotes({ creditNotes: notes }: Statement, words: StatementWords): Markup {
  if (notes.length === 0) return none
  const rows = notes.map(
    ({ number, statement, postings, exact, shown }) => markup`<tr><td>${number ?? ''}</td>
<td>${statement ?? words.noEarlierStatement}</td><td class="number">${postings}</td>
<td class="number exact">${withThousands(exact)}</td><td class="number">${withThousands(shown)}</td></tr>
`,
  )
  return markup`<section><h2>${words.creditNotes}</h2><p>${words.creditNotesFor}</p>
<table><thead><tr><th>${words.number}</th><th>${words.refundedStatement}</th>
<th class="number">${words.postings}</th><th class="number">${words.exact}</th>
<th class="number">${words.amount}</th></tr></thead><tbody>
${rows}</tbody></table></section>`
}

function foot({ period, issued }: StatementSource, words: StatementWords): Markup {
  const { accruals, postings, late, position } = period
  const signed =
    issued === undefined ? none : markup`<p>${words.proofHint}</p><pre>${issued.checkpoint}</pre>`
  return markup`<section><h2>${words.accruals}</h2><dl>
${fact(words.held, withThousands(accruals.held))}${fact(words.unstated, withThousands(accruals.unstated))}</dl></section>
<section class="proof"><h2>${words.proof}</h2><dl>${fact(words.postings, withThousands(String(postings)))}
${fact(words.late, withThousands(String(late)))}${fact(words.position, position)}</dl>${signed}</section>
<footer>${words.noInvoice}</footer>`
}

function page(source: StatementSource, { title, number }: Named, parts: readonly Markup[]): string {
  const { period, language } = source
  const words = statementWords[language]
  const name = [title, number, period.month, period.currency].filter(Boolean).join(' ')
  return markup`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${name}</title><style>${statementStyle}</style></head>
<body class="${statementStatusOf(source)}"><main>
${statementStatusOf(source) === 'voided' ? markup`<p class="watermark">${words.voided}</p>` : none}${parts}
</main></body></html>
`.text
}

function usersPage(users: StatementSource['users'], words: StatementWords): Markup {
  if (users === undefined) return none
  const rows = users.map(
    ({ userId, model, lines, amount }) => markup`<tr><td>${userId}</td><td>${model}</td>
<td class="number">${withThousands(String(lines))}</td><td class="number">${withThousands(amount)}</td></tr>
`,
  )
  return markup`<section class="users"><h2>${words.byUser}</h2>
<table><thead><tr><th>${words.user}</th><th>${words.model}</th><th class="number">${words.lines}</th>
<th class="number">${words.exact}</th></tr></thead><tbody>
${rows}</tbody></table></section>`
}

/** Renders a statement as a page of HTML. */
export function statementPage(source: StatementSource): string {
  const words = statementWords[source.language]
  const statement = statementOf(source.period)
  const number = source.issued?.statement
  const named = { title: words.title, number, notice: words.noInvoice }
  return page(source, named, [
    head(source, named, words),
    movements(statement, source.period.currency, words),
    creditNotes(statement, words),
    foot(source, words),
    usersPage(source.users, words),
  ])
}

/** Renders one credit note of a month as a separate page. */
export function creditNotePage(source: StatementSource, note: NumberedNote): string {
  const words = statementWords[source.language]
  const { number, statement, postings, exact, shown } = note
  const named = { title: words.creditNote, number, notice: words.noTaxDocument }
  const posted = source.issued?.statement
  const further = [
    fact(words.refundedStatement, statement),
    ...(posted === undefined ? [] : [fact(words.postedWith, posted)]),
  ]
  const table = markup`<table><thead><tr><th>${words.description}</th><th class="number">${words.postings}</th>
<th class="number">${words.exact}</th><th class="number">${words.amount} (${source.period.currency})</th></tr></thead>
<tbody><tr class="balance"><th scope="row">${words.rows.adjusted_usage} (${statement})</th>
<td class="number">${postings}</td><td class="number exact">${withThousands(exact)}</td>
<td class="number">${withThousands(shown)}</td></tr></tbody></table>
<footer>${words.noTaxDocument}</footer>`
  return page(source, named, [head(source, named, words, further), table])
}
