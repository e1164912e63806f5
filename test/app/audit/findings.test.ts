import t from 'tap'
import { type Finding, Findings, MAX_FINDINGS } from '../../../src/app/audit/findings.ts'

t.test('the first findings are kept, later ones are counted only', (t) => {
  const findings = new Findings()
  const finding = (n: number): Finding => ({
    code: 'row_missing',
    table: 'ledger.lines',
    key: `call_${n}:1`,
    position: String(n),
    message: 'it is not in the ledger',
  })
  for (let n = 0; n < MAX_FINDINGS - 1; n += 1) findings.push(finding(n))
  findings.push(finding(MAX_FINDINGS - 1), finding(MAX_FINDINGS), finding(MAX_FINDINGS + 1))
  findings.push(finding(MAX_FINDINGS + 2))
  t.equal(findings.count, MAX_FINDINGS + 3)
  t.equal(findings.kept.length, MAX_FINDINGS)
  t.same(findings.kept.at(-1), finding(MAX_FINDINGS - 1))
  t.end()
})

t.test('merged findings are counted, and kept while there is room', (t) => {
  const finding = (table: string, n: number): Finding => ({
    code: 'row_differs',
    table,
    key: String(n),
    position: '',
    message: 'it differs',
  })
  const [all, beside] = [new Findings(), new Findings()]
  all.push(finding('ledger.lines', 0))
  for (let n = 0; n < MAX_FINDINGS + 2; n += 1) beside.push(finding('tasks.tasks', n))
  all.add(beside)
  all.add(new Findings())
  t.equal(all.count, MAX_FINDINGS + 3)
  t.equal(all.kept.length, MAX_FINDINGS)
  t.same(all.kept.slice(0, 2), [finding('ledger.lines', 0), finding('tasks.tasks', 0)])
  t.ok(all.of('tasks') && all.of('ledger'))
  t.notOk(all.of('assets'))
  t.end()
})
