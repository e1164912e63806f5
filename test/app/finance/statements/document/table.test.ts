import t from 'tap'
import { creditNoteOf } from '../../../../../src/app/finance/statements/document/credit-note.ts'
import { statementTable } from '../../../../../src/app/finance/statements/document/table.ts'
import { demonstration, issued, preview, sumOf } from './support/source.ts'

t.test('the amounts from the opening balance on add up to the closing one', async (t) => {
  const rows = statementTable(issued)
  const closing = rows.findIndex(({ kind }) => kind === 'closing')
  const before = rows.slice(0, closing).map(({ amount }) => String(amount))
  t.equal(sumOf(before), sumOf([String(rows[closing]?.['amount'])]))
  const exact = rows.slice(0, closing).map((row) => String(row['exact']))
  t.equal(sumOf(exact), rows[closing]?.['exact'])
})

t.test('refunds have a row for each statement whose usage was refunded', async (t) => {
  const notes = statementTable(issued).filter(({ kind }) => kind === 'adjusted_usage')
  t.same(
    notes.map(({ key, credit_note: note, exact }) => [key, note, exact]),
    [
      ['ACME-0010', 'ACME-0010-CN-2026-11', '1.2525'],
      [null, null, '1.2525'],
    ],
  )
})

t.test('the file of a credit note has its row alone', async (t) => {
  const note = creditNoteOf(issued, 'ACME-0010-CN-2026-11')
  t.equal(statementTable(issued, note).length, 1)
  t.match(statementTable(issued, note)[0], { exact: '1.2525', credit_note: 'ACME-0010-CN-2026-11' })
})

t.test('each row names the statement, its parties and the bounds of its month', async (t) => {
  for (const row of statementTable(issued))
    t.match(row, {
      document: 'statement, not a tax invoice',
      status: 'issued',
      statement: 'ACME-0011',
      issuer: 'Tollgate GmbH',
      customer: 'Acme 上海有限公司',
      from: '2026-11-01T00:00:00+08:00',
      to: '2026-12-01T00:00:00+08:00',
      time_zone: 'Asia/Shanghai',
      currency: 'CNY',
    })
  const [first] = statementTable({ ...demonstration, voided: { at: 'x', reason: 'y' } })
  t.match(first, { document: 'statement, not a tax invoice, demonstration', status: 'voided' })
  t.match(statementTable(preview)[0], { status: 'preview', statement: null, closed_at: null })
})

t.test('what is held is not part of the balance', async (t) => {
  t.same(
    statementTable(issued)
      .filter(({ kind }) => kind === 'held' || kind === 'unstated')
      .map(({ exact, amount }) => [exact, amount]),
    [
      ['46', null],
      ['0.0375', null],
    ],
  )
})
