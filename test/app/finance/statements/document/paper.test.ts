import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { creditNoteOf } from '../../../../../src/app/finance/statements/document/credit-note.ts'
import {
  type PaperJob,
  statementPdf,
} from '../../../../../src/app/finance/statements/document/paper/pdf.ts'
import { statementOf } from '../../../../../src/app/finance/statements/document/statement.ts'
import { pdftotext } from '../../../../helpers/requirements.ts'
import { demonstration, emptyMonth, issued, monthOf, preview } from './support/source.ts'

const voided = { at: '2026-12-05T10:00:00.000Z', reason: 'the price was wrong' }
const users = [
  { userId: 'ann', model: 'text-basic', lines: 1_000, amount: '1234.5' },
  { userId: '张伟', model: 'video-2-0', lines: 12, amount: '1263.3' },
]
const customer = { legalName: 'Acme', address: [], country: 'DE' }

/** A month of so many SKUs, whose names are wide, and long without a place to cut them. */
function manySkus(count: number): PaperJob {
  const usagePico = Array.from({ length: count }, (_, n) => BigInt(n) * 1_234_567_891n)
  const period = monthOf({ openingPico: 5n, usagePico, refundsPico: [7n], creditPico: [9n] })
  const sums = period.sums.map((sum, n) => {
    const sku =
      n % 7 === 0 ? 'x'.repeat(140) : `overseas-video-2-5-of-a-long-name-${n}-1080p-novideo`
    return { ...sum, sku }
  })
  return { source: { ...issued, period: { ...period, sums } } }
}

/** Everything that pages and maps of glyphs have, as text. */
function streamsOf(pdf: Buffer): readonly string[] {
  const streams: string[] = []
  for (let at = 0; ;) {
    const start = pdf.indexOf('stream\n', at)
    if (start < 0) return streams
    const end = pdf.indexOf('\nendstream', start)
    const packed = pdf.subarray(start + 'stream\n'.length, end)
    // Zlib streams begin with these bytes, whatever they hold.
    if (packed[0] === 0x78) streams.push(inflateSync(packed).toString('latin1'))
    at = end + '\nendstream'.length
  }
}

/** The numbers of the glyphs that pages draw, four hexadecimal digits each. */
function glyphsOf(pdf: Buffer): readonly string[] {
  return streamsOf(pdf)
    .flatMap((stream) => stream.match(/\[[^\]]*\] TJ/g) ?? [])
    .flatMap((shown) => shown.match(/<[\da-f]+>/g) ?? [])
    .flatMap((codes) => codes.match(/[\da-f]{4}/g) ?? [])
}

/** The text of each page, line by line as it is read. */
async function pagesOf(t: Test, job: PaperJob): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'paper-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = join(folder, 'statement.pdf')
  await writeFile(file, await statementPdf(job))
  const args = ['-layout', '-enc', 'UTF-8', file, '-']
  const { stdout } = await promisify(execFile)(pdftotext.path(), args)
  return stdout.split('\f').slice(0, -1)
}

const jobs: Readonly<Record<string, PaperJob>> = {
  'a statement': { source: { ...issued, users } },
  'a demonstration in Chinese': { source: { ...demonstration, language: 'zh', users } },
  'a void statement': { source: { ...issued, voided } },
  'a preview': { source: preview },
  'a credit note': { source: issued, note: creditNoteOf(issued, 'ACME-0010-CN-2026-11') },
  'names in Hebrew and Arabic': {
    source: {
      ...issued,
      customer: {
        ...customer,
        legalName: 'חברת הדוגמה (ישראל) בע"מ 2000',
        address: ['شارع الملك فهد، مبنى ١٢', '日本語ひらがな「括弧」、', 'ул. Льва 16; Θήτα'],
      },
    },
  },
  'names that no font has': {
    source: {
      ...issued,
      customer: {
        ...customer,
        legalName: '🙂 한국 ไทย 𠮷 \u{202e}evil\u{202c} a\u{a0}b\u{0}',
        address: ['👩‍👩‍👧'],
      },
    },
  },
}

for (const [name, job] of Object.entries(jobs))
  t.test(`${name} is the same bytes each time, and each character has a glyph`, async (t) => {
    const pdf = await statementPdf(job)
    t.equal(pdf.subarray(0, 8).toString(), '%PDF-1.7')
    t.ok(pdf.equals(await statementPdf(structuredClone(job))))
    const glyphs = glyphsOf(pdf)
    t.ok(glyphs.length > 200, `${glyphs.length} glyphs`)
    t.notOk(glyphs.includes('0000'), 'the first glyph of a font is a box')
  })

t.test('a page has what the statement has', { skip: pdftotext.missing }, async (t) => {
  const [text = '', ...further] = await pagesOf(t, { source: issued })
  const lines = [text, ...further].join('\n').replaceAll(/ +/g, ' ')
  for (const part of [
    'Statement of account',
    'This statement is not a tax invoice.',
    'ACME-0011',
    '2026-12-01 00:00:00 +08:00',
    'Acme 上海有限公司',
    'Purchase order: PO-2026-117',
    'Opening balance 1,200.005 1,200.01',
    'domestic-video-2-0-720p-novideo 54,300,000 token -2,497.8 -2,497.80',
    'Refunds of usage 2.505 2.51',
    'Closing balance 48,713.405 48,713.41',
    'ACME-0010-CN-2026-11 ACME-0010 1 1.2525',
    'Held for running tasks 46',
    'Position of the log 928374655',
    '9RjxbFpOhhbAiQjZRFDj47DBJWXX1BmL2p0hvvmU2Uw=',
  ])
    t.ok(lines.includes(part), part)
  t.notMatch(lines, /Void|Preview|Demonstration|undefined/)
})

t.test(
  'unknown characters are question marks, and directions are not changed',
  { skip: pdftotext.missing },
  async (t) => {
    const [text = ''] = await pagesOf(t, jobs['names that no font has']!)
    t.match(text, /\? \?\? \?\?\? \? evil a b/)
  },
)

t.test('each page says what it is of', { skip: pdftotext.missing }, async (t) => {
  const job = manySkus(1_100)
  const pages = await pagesOf(t, { ...job, source: { ...job.source, users, voided } })
  t.ok(pages.length >= 40, `${pages.length} pages`)
  for (const [n, page] of pages.entries()) {
    t.match(page, new RegExp(`Page ${n + 1} of ${pages.length}`))
    if (n > 0) t.match(page, /Statement of account · ACME-0011 · 2026-11 +Void/)
    if (/overseas|xxx/.test(page)) t.match(page, /Description +Quantity +Exact +Amount \(CNY\)/)
  }
  t.match(pages.at(-1), /Usage by user and model/)
})

t.test('no row of a long statement is lost or cut', { skip: pdftotext.missing }, async (t) => {
  const job = manySkus(200)
  const text = (await pagesOf(t, job)).join('\n')
  for (const { exact, shown } of statementOf(job.source.period).rows) {
    const amounts = [exact, shown].map((amount) =>
      amount.replace(/\B(?=(?:\d{3})+(?:\.|$))(?<!\.\d*)/g, ','),
    )
    t.ok(text.includes(amounts[0]!) && text.includes(amounts[1]!), amounts.join(' '))
  }
})

t.test('an empty month says that it has no movements', { skip: pdftotext.missing }, async (t) => {
  const [text = ''] = await pagesOf(t, {
    source: { ...preview, period: emptyMonth('7'), issuer: undefined, customer: undefined },
  })
  t.match(
    text,
    /Opening balance +7 +7\.00\s+No movements in this month\.\s+Closing balance +7 +7\.00/,
  )
  t.match(text, /PREVIEW/)
})
