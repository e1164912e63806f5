import t from 'tap'
import { creditNoteOf } from '../../../../../src/app/finance/statements/document/credit-note.ts'
import {
  creditNotePage,
  statementPage,
} from '../../../../../src/app/finance/statements/document/html.ts'
import { demonstration, emptyMonth, issued, november, preview } from './support/source.ts'

/** The text of a page, as a reader sees it. */
function textOf(page: string): string {
  const [, body = ''] = page.split('<body')
  return body
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
}

t.test(
  'a page has both parties, the bounds of the month, every movement and the signed head',
  async (t) => {
    const page = statementPage(issued)
    const text = textOf(page)
    for (const part of [
      'Statement of account',
      'This statement is not a tax invoice.',
      'Number ACME-0011',
      'From 2026-11-01 00:00:00 +08:00',
      'To (exclusive) 2026-12-01 00:00:00 +08:00',
      'Time zone Asia/Shanghai',
      'Closed 2026-12-04 09:00:00 UTC',
      'Tollgate GmbH Torstr. 1 10119 Berlin DE Tax number: DE123456789',
      'Acme 上海有限公司',
      'Purchase order: PO-2026-117',
      'Account: acme',
      'Opening balance 1,200.005 1,200.01',
      'domestic-video-2-0-720p-novideo 54,300,000 token −2,497.8 −2,497.80',
      'Other usage −0.0000015 0.00',
      'Credit bought 50,000 50,000.00',
      'Refunds of usage 2.505 2.51',
      'Closing balance 48,713.405 48,713.41',
      'ACME-0010-CN-2026-11 ACME-0010 1 1.2525',
      'no earlier statement 2 1.2525',
      'Held for running tasks 46',
      'Used, not yet settled 0.0375',
      'Postings 1,047 Late postings 3 Position of the log 928374655',
      '— gateway.example/statements U+Ho9m',
    ])
      t.ok(text.includes(part), part)
    t.notMatch(text, /Void|Preview|Demonstration/)
    t.notMatch(page, /<script|https?:\/\/|src=/, 'nothing runs and nothing is fetched')
  },
)

t.test('a void statement, a preview and a demonstration say so', async (t) => {
  const voided = { at: '2026-12-05T10:00:00.000Z', reason: 'the price was wrong' }
  t.match(
    statementPage({ ...issued, voided }),
    /<p class="watermark">Void<\/p>[^]*<p class="stamp voided">Void<\/p>/,
  )
  t.match(textOf(statementPage({ ...issued, voided })), 'UTC: the price was wrong')
  const page = textOf(statementPage(preview))
  t.match(page, 'Preview')
  t.notMatch(page, /ACME-0011|gateway\.example/, 'a preview has no number and no signature')
  t.match(textOf(statementPage(demonstration)), 'no one is bound by it')
})

t.test('a preview without profiles has no parties', async (t) => {
  const page = statementPage({ ...preview, issuer: undefined, customer: undefined })
  t.match(page, 'Account: acme')
  t.notMatch(page, /undefined|<address>/)
})

t.test('texts of parties are escaped', async (t) => {
  const customer = {
    legalName: `<script>alert("1")</script> & 'Co'`,
    address: ['<b>1</b>'],
    country: 'DE',
    taxId: '"><img>',
  }
  const page = statementPage({ ...issued, customer, voided: { at: 'x', reason: '</dd><hr>' } })
  t.notMatch(page, /<script|<b>|<img|<hr/)
  t.match(page, '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;Co&#39;')
})

t.test('a page is in the language of the billing profile', async (t) => {
  const page = statementPage({ ...issued, language: 'zh' })
  t.match(page, '<html lang="zh">')
  t.match(textOf(page), /对账单 本对账单不是税务发票。/)
  t.match(textOf(page), '期末余额')
})

t.test('a month without movements says that it has none', async (t) => {
  const page = textOf(statementPage({ ...issued, period: emptyMonth('7') }))
  t.match(page, 'Opening balance 7 7.00 No movements in this month. Closing balance 7 7.00')
  t.notMatch(page, 'Credit notes')
})

t.test('the same close gives the same page', async (t) => {
  const copy = structuredClone(november)
  t.equal(statementPage({ ...issued, period: copy }), statementPage(issued))
})

t.test(
  'a credit note is a separate page, with the statement that has the refunded usage',
  async (t) => {
    const note = creditNoteOf(issued, 'ACME-0010-CN-2026-11')
    const page = textOf(creditNotePage(issued, note))
    t.match(page, 'Number ACME-0010-CN-2026-11 Of statement ACME-0010 Posted with ACME-0011')
    t.match(page, 'Refunds of usage (ACME-0010) 1 1.2525')
    t.throws(() => creditNoteOf(issued, 'ACME-0009-CN-2026-11'), {
      code: 'period_not_found',
      message: '2026-11 has no credit note ACME-0009-CN-2026-11: it has ACME-0010-CN-2026-11',
    })
  },
)

t.test('usage by user and model is a further page, where it is wanted', async (t) => {
  t.notMatch(textOf(statementPage(issued)), 'Usage by user and model')
  const users = [{ userId: '<ann>', model: 'text-basic', lines: 1_000, amount: '1234.5' }]
  const page = statementPage({ ...issued, users })
  t.match(textOf(page), 'Usage by user and model User Model Lines Exact')
  t.match(
    page,
    /<td>&lt;ann&gt;<\/td><td>text-basic<\/td>\s*<td[^>]*>1,000<\/td><td[^>]*>1,234\.5</,
  )
})
