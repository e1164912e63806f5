import t from 'tap'
import { creditNoteOf } from '../../../../../src/app/finance/statements/document/credit-note.ts'
import {
  creditNoteFile,
  statementFile,
} from '../../../../../src/app/finance/statements/document/json.ts'
import { issued, preview } from './support/source.ts'

const proof = {
  leaf: '["close",1]',
  sums: [[['sku', 'token', 1, '2', 1]], [[null, '1', 1]], ['46', '0.0375']],
  parties: [
    ['Tollgate GmbH', ['Torstr. 1'], 'DE', null],
    ['Acme', ['1'], 'CN', null, null],
  ],
  path: ['9RjxbFpOhhbAiQjZRFDj47DBJWXX1BmL2p0hvvmU2Uw='],
  checkpoint: 'a note',
}

t.test('a statement has every member that its format names, and its proof', async (t) => {
  const document = JSON.parse(statementFile(issued, proof)) as Record<string, unknown>
  const members =
    'object status notice number tenant_id currency month time_zone from to position postings late ' +
    'issuer customer opening closing exact rows refunds accruals proof'
  t.same(Object.keys(document), members.split(' '))
  t.match(document, {
    object: 'statement',
    status: 'issued',
    notice: 'This statement is not a tax invoice.',
    number: 'ACME-0011',
    from: '2026-11-01T00:00:00+08:00',
    opening: '1200.01',
    closing: '48713.41',
    exact: { opening: '1200.005', closing: '48713.405' },
    issuer: { legal_name: 'Tollgate GmbH', tax_id: 'DE123456789' },
    customer: { legal_name: 'Acme 上海有限公司', po_number: 'PO-2026-117' },
    refunds: [
      { statement: 'ACME-0010', amount: '1.2525', postings: 1 },
      { statement: null, amount: '1.2525', postings: 2 },
    ],
    accruals: { held: '46', unstated: '0.0375' },
  })
  const rows = document['rows'] as readonly object[]
  t.same(rows[0], {
    kind: 'usage',
    key: 'domestic-video-2-0-720p-novideo',
    quantity: 54_300_000,
    unit: 'token',
    exact: '-2497.8',
    shown: '-2497.80',
  })
  const { sums, ...further } = proof
  t.same(document['proof'], {
    ...further,
    sums: sums[0],
    refunds: sums[1],
    accruals: sums[2],
  })
})

t.test('a preview has no number and no proof', async (t) => {
  const document = JSON.parse(
    statementFile({ ...preview, issuer: undefined }, undefined),
  ) as Record<string, unknown>
  t.match(document, { status: 'preview', number: null, issuer: null })
  t.notOk('proof' in document)
})

t.test('a voided statement differs in its status alone', async (t) => {
  const voided = { at: '2026-12-05T10:00:00.000Z', reason: 'a price was wrong' }
  t.equal(
    statementFile({ ...issued, voided }, proof).replace('"voided"', '"issued"'),
    statementFile(issued, proof),
  )
})

t.test('a credit note names both statements and its amount, exact and in cents', async (t) => {
  const note = creditNoteOf(issued, 'ACME-0010-CN-2026-11')
  t.match(JSON.parse(creditNoteFile(issued, note)), {
    object: 'credit_note',
    notice: 'This credit note is not a tax document.',
    number: 'ACME-0010-CN-2026-11',
    statement: 'ACME-0010',
    posted_with: 'ACME-0011',
    exact: '1.2525',
    postings: 1,
    customer: { legal_name: 'Acme 上海有限公司' },
  })
})
