import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { readTable } from '../helpers/csv.ts'
import { removeFolder } from '../helpers/remove-folder.ts'
import { runPage } from './support/page.ts'
import { shiftedClock } from './support/shifted-clock.ts'
import { programInShell, serve } from './support/tollgate.ts'

/** Every command of `docs/finance.md`, run from the page in one shell on a gateway as a user starts it. */

const folder = await mkdtemp(join(tmpdir(), 'tollgate-finance-'))
t.teardown(() => removeFolder(folder))
const dataDir = join(folder, 'data')
let gateway = await serve(dataDir)
t.teardown(() => gateway.end('SIGKILL'))

/** Year and month of now in a zone, the first month being 1. */
function monthIn(timeZone: string): readonly [year: number, month: number] {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date()).split('-')
  return [Number(parts[0]), Number(parts[1])]
}

const startedIn = { account: monthIn('Europe/Berlin'), demonstration: monthIn('UTC') }

/** Noon of the tenth day after the account's month: every zone is in that month then, and grace hours are over. */
function nextTenthMs(): number {
  const [year, month] = startedIn.account
  return Date.UTC(year, month, 10, 12)
}

/** Starts the gateway again in the next month on the same port; gives what makes the clock of a shell the same. */
async function restartNextMonth(): Promise<string> {
  const options = shiftedClock(nextTenthMs() - Date.now())
  const { port } = new URL(gateway.demo.baseUrl)
  await gateway.end('SIGTERM')
  gateway = await serve(dataDir, { PORT: port, NODE_OPTIONS: options })
  return options
}

/** What a shell runs to have the gateway, and each of its commands, in the next month. */
async function aMonthLater(t: Test): Promise<string> {
  const socket = join(folder, 'restart')
  const server = createServer((_request, response) => {
    void restartNextMonth().then(
      (options) => response.end(options),
      (error: unknown) => response.destroy(error as Error),
    )
  }).listen(socket)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `
    NODE_OPTIONS=$(command curl --silent --show-error --fail --unix-socket '${socket}' http://gateway/)
    export NODE_OPTIONS
    tollgate() { ${await programInShell()}; }`
}

t.test('a month from its first credit to reports that tie', async (t) => {
  const before = { 'Close a month': await aMonthLater(t) }
  const of = await runPage(t, 'docs/finance.md', gateway.demo.baseUrl, folder, before)
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

  const closed = of('Close a month')
  t.match(closed, /^clean/m)
  t.match(closed, /^acme USD: ready$/m)
  // In the last hour of a month in UTC the account is in the next, and the demonstration comes a month before it.
  if (isDeepStrictEqual(startedIn.account, startedIn.demonstration))
    t.match(closed, /^tenant_demo CNY: The tenant has no billing details$/m)
  t.match(closed, /acme +USD +0 +74\.971 +\d+ +preview/, 'a preview has no number')
  t.match(closed, /"statement":"ACME-0001".*"closing":"74\.971".*"changed":true/)
  t.match(closed, /acme +USD +ACME-0001 +0 +74\.971 +\d+ +closed/, 'the same close')

  const verified = of('Hand over a statement')
  t.match(verified, /ACME-0001.*: signed, and it adds up/)
  t.match(verified, /all of them, none added/)
  const page = await readFile(join(folder, 'statement.html'), 'utf8')
  t.match(page, /Acme Film GmbH[^]*Tollgate GmbH|Tollgate GmbH[^]*Acme Film GmbH/)
  const table = readTable(await readFile(join(folder, 'statement.csv'), 'utf8'))
  t.same(
    table.map((row) => `${row['kind']} ${row['exact']} ${row['amount']}`),
    [
      'opening 0 0.00',
      'usage -0.033 -0.03',
      'granted_paid 70 70.00',
      'granted_promotional 5 5.00',
      'adjusted_usage 0.004 0.00',
      'closing 74.971 74.97',
      'held 0 ',
      'unstated 0 ',
    ],
  )

  const voided = of('Take a statement back')
  t.match(voided, /"statement":"ACME-0001","state":"proposed"/)
  t.match(voided, /"statement":"ACME-0001","state":"voided"/)
  t.match(voided, /acme +USD +ACME-0002 +0 +74\.971 +\d+ +closed/)
  t.match(voided, /ACME-0002.*: signed, and it adds up/)
})
