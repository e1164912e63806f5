import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { readTable } from '../helpers/csv.ts'
import { runPage } from './support/page.ts'
import { serve } from './support/tollgate.ts'

/** Every command of `docs/finance.md`, run from the page in one shell on a gateway as a user starts it. */

const folder = await mkdtemp(join(tmpdir(), 'tollgate-finance-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const gateway = await serve(join(folder, 'data'))
t.teardown(() => gateway.end('SIGKILL'))

t.test('a month from its first credit to reports that tie', async (t) => {
  const of = await runPage(t, 'docs/finance.md', gateway.demo.baseUrl, folder)
  t.match(of('Open the account'), /acme: billing \(revision 1\)[^]*tags: project[^]*50 USD/i)

  const credit = of('Credit comes in')
  t.match(credit, /"object":"credit_grant".*"amount":"40".*"changed":true/)
  t.match(credit, /"amount":"5".*"changed":true/)
  t.match(credit, /proposal_[0-9a-f]{32} .*30/, 'the proposal is listed')
  t.match(credit, /"state":"approved".*"changed":true/)

  t.match(of('The month goes by'), /"object":"adjustment".*"changed":true.*"net":"0.007"/)

  const reports = of('What came of it')
  t.match(reports, /grant +40 .*credit bought .*INV-77/)
  t.match(reports, /grant +30 .*credit bought .*INV-78/)
  t.match(reports, /refund +0\.004 /)
  t.match(reports, /usage +-0\.033 +74\.971 .*3 requests/)
  t.match(reports, /closing: 74\.971/)
  t.match(reports, /apollo +image-2 .*0\.022/)
  t.match(reports, /zeus +image-2 .*0\.011 .*0\.004 +0\.007/)
  t.match(reports, /quality +broken picture, ticket 4711/)
  t.match(reports, /"amount":"0.033","refunded":"0.004","net":"0.029"/)
  t.match(reports, /"object":"receipt"/)

  const tied = of('Tie it')
  t.match(tied, /acme +USD +image +3 +0\.033 +3 +3 +0\.004 +0\.029/)
  t.match(tied, /lines\.csv: 3 lines, 0\.033/)
  t.match(tied, /75\.000000000000 .*0\.033000000000/)
  t.match(tied, /^clean/m)

  const handed = of('Hand it over')
  t.match(handed, /3 lines as of position \d+: \S+focus_acme_at-\d+\.csv/)
  t.match(handed, /no rows/, 'nothing is new since')
  const name = (await readdir(folder)).find((one) => one.startsWith('focus_acme_at-')) ?? ''
  const rows = readTable(await readFile(join(folder, name), 'utf8'))
  t.same(
    rows
      .map((row) => `${row['ChargeCategory']} ${row['BilledCost']} ${row['EffectiveCost']}`)
      .toSorted((one, other) => one.localeCompare(other)),
    [
      'Credit -0.004 -0.004',
      'Credit -5 -5',
      'Purchase 0.004 0',
      'Purchase 30 0',
      'Purchase 40 0',
      'Purchase 5 0',
      'Usage 0 0.011',
      'Usage 0 0.011',
      'Usage 0 0.011',
    ],
  )
})
