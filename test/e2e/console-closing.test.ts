import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Pool } from 'pg'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { keepLastAudit } from '../../src/app/audit/last-audit.ts'
import { setIssuer } from '../../src/app/finance/statements/issuer.ts'
import { verifyFiles } from '../../src/cli/verify/verify.ts'
import { statementStream } from '../../src/domain/statement/events.ts'
import { toTimestamp } from '../../src/kernel/clock.ts'
import { atLength } from '../helpers/long-run.ts'
import { chromium } from '../helpers/requirements.ts'
import { startStack } from '../helpers/stack.ts'
import { withPage } from './support/browser.ts'
import { call } from './support/client.ts'
import {
  addController,
  askConsole,
  type ConsoleRequest,
  giveViewReason,
  signInToConsole,
} from './support/console.ts'
import { type Hand, handNamed, walkOf } from './support/hands.ts'
import { recordPicture } from './support/pictures.ts'
import { settleOneOfEach } from './support/past-weeks.ts'
import { openMonth } from './support/tenants-of-a-month.ts'

const skip = chromium.missing

/** A month of many tenants is closed in the console: from the board to a statement and its files. */

const TENANTS = atLength(24, 200)
/** Two cores close some months a second. */
const CLOSED_WITHIN_MS = 180_000

const stack = await startStack({
  env: { PUBLIC_BASE_URL: 'https://gateway.example', QUERY_RATE_LIMIT_RPM: '60000' },
})
t.teardown(() => stack.stop())
const { url, access, demo, other } = stack
const pool = new Pool({ connectionString: stack.databaseUrl, max: 1 })
t.teardown(() => pool.end())

const now = new Date()
const monthStart = (further: number): number =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + further, 1)
const month = toTimestamp(monthStart(-1)).slice(0, 7)
const named = (n: number): string => `co-${String(n + 1).padStart(3, '0')}`

/** Tenants that are blocked, each by another reason. */
const [unbilled, behind, proposed, spooled] = [named(3), named(7), named(11), named(15)]
await openMonth(
  access.log,
  Array.from({ length: TENANTS }, (_, n) => ({
    tenantId: named(n),
    name: `Company ${n + 1}`,
    ...(named(n) === unbilled ? { hasBilling: false as const } : {}),
    ...(named(n) === behind ? { openedMs: monthStart(-2) + 60_000 } : {}),
  })),
  { fromMs: monthStart(-1), toMs: monthStart(0) },
)
const party = { legalName: 'Tollgate GmbH', address: ['Weg 2', '10115 Berlin'], country: 'DE' }
await setIssuer({ ...access, correlationId: 'test', actor: 'test' }, { wanted: party })
await keepLastAudit(pool, { findingsInAll: 0, position: '0' })
await pool.query(
  `insert into ops.text_spending (tenant_id, currency, replica, held, settled, spool, turn, told_at)
   values ($1, 'USD', 'a_stopped_replica', 0, 1.5, 'spool_1', 1, now())`,
  [spooled],
)

const [ann, ben] = [await addController(stack, 'ann'), await addController(stack, 'ben')]
await stack.caughtUp()

/** Asks the administration. @throws where it refuses */
async function manage(method: string, path: string, body: object, token = demo.adminToken) {
  const headers = { 'content-type': 'application/json' }
  const sent = { method, token, headers, body: JSON.stringify(body) }
  const answer = await call(`${url}/api/admin${path}`, sent)
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
}
await manage('PUT', `/tenants/${proposed}/approvals`, {
  limits: [{ currency: 'USD', above: '10' }],
  lapse_hours: 72,
})
await stack.caughtUp()
const grant = { currency: 'USD', amount: '50', reason: 'invoice 12', grant_id: 'late_grant' }
await manage('POST', `/tenants/${proposed}/credit/grants`, grant, ben)
await stack.caughtUp()

async function signIn(
  page: Page,
  { write, press, sees }: ReturnType<typeof walkOf>,
  token: string,
) {
  await page.goto(`${url}/console`)
  await write('Token', token)
  await press('Sign in')
  await sees(/Top tenants yesterday/)
}

async function closeReady(t: Test, page: Page, hand: Hand): Promise<void> {
  const walk = walkOf(page, hand)
  const { follow, press, write, sees } = walk
  const picture = (what: string) => recordPicture(t, page, hand, what)
  await signIn(page, walk, ann)
  const ready = TENANTS - 4

  t.comment('one page: what is ready and what is blocked, by what')
  await follow('Months')
  const board = await sees(new RegExp(`0\\s+closed\\s+${ready}\\s+ready\\s+4\\s+blocked`))
  for (const words of [
    '1: the tenant has no billing details',
    '1: an earlier month is open',
    '1: postings wait for an approval',
    '1: settlements wait in spools',
  ])
    t.match(board, words)
  const rows = await page.locator('tbody tr').allInnerTexts()
  t.same(
    rows.slice(0, 4).map((row) => row.split(/\s/)[0]),
    [unbilled, behind, proposed, spooled],
    'those that are blocked come first',
  )
  await picture('months')

  t.comment('one form')
  await press(`Close ${ready} months`)
  await sees(/Closing \d+ months, one after the other|Done: /)
  t.comment('one page')
  await page.getByText(`Done: ${ready} months closed`).waitFor({ timeout: CLOSED_WITHIN_MS })
  const done = await sees(new RegExp(`${ready}\\s+closed\\s+0\\s+ready\\s+4\\s+blocked`))
  t.match(done, /CO-001-0001/, 'with the number of its statement')

  t.comment('a statement and its files')
  await follow(named(0))
  await write('Reason', 'close of the month')
  await press('View tenant')
  const statement = await sees(/Closed: statement CO-001-0001/)
  t.match(statement, /opening balance\s+0\s+0\.00/)
  t.match(statement, /credit bought\s+500\s+500\.00/)
  await picture('month')
  const saved: string[] = []
  const folder = t.testdir()
  for (const name of ['statement.json', 'postings.ndjson', 'statement.pdf', 'statement.csv']) {
    const [download] = await Promise.all([page.waitForEvent('download'), follow(name)])
    const path = join(folder, download.suggestedFilename())
    await download.saveAs(path)
    saved.push(path)
  }
  t.ok(
    readFileSync(saved[3] ?? '')
      .subarray(0, 3)
      .equals(Buffer.from([0xef, 0xbb, 0xbf])),
  )
  const command = await page.locator('.command', { hasText: 'tollgate verify' }).innerText()
  t.match(command, `tollgate verify CO-001-0001_${named(0)}_USD_${month}.json`)
  await verify(t, command, saved)
}

/** Runs the command of the page over the files that the page gave. */
async function verify(t: Test, command: string, saved: readonly string[]): Promise<void> {
  const [, , ...words] = command.split(' ')
  const files = words.flatMap((word) => saved.filter((path) => path.endsWith(`/${word}`)))
  t.equal(files.length, 2, 'the names of the command are those of the files')
  const keys = words.filter((_, n) => words[n - 1] === '--key')
  const said: string[] = []
  verifyFiles(files, keys, (line) => said.push(line))
  t.match(said.join('\n'), /signed, and it adds up[^]*all of them, none added, each exact/)
}
/** Ends each blocker by its link or its command, then closes the rest. */
async function closeRest(t: Test, page: Page, hand: Hand): Promise<void> {
  const walk = walkOf(page, hand)
  const { follow, press, unfold, write, sees } = walk
  const lookAgain = async (words: RegExp): Promise<void> => {
    for (let n = 0; n < 100; n += 1) {
      if (words.test(await page.locator('main').innerText())) return
      await follow('look again')
    }
    throw new Error(`the page never says ${String(words)}`)
  }
  await signIn(page, walk, ann)
  const viewing = async (): Promise<void> => {
    if (!page.url().includes('/view-reason')) return
    await write('Reason', 'close of the month')
    await press('View tenant')
  }

  t.comment('a proposal: its reason leads to it')
  await follow('Months')
  await follow('1 posting waits for an approval', proposed)
  await follow('credit', proposed)
  await viewing()
  await unfold('Approve')
  await press('Approve')
  await sees(/This proposal was approved/)

  t.comment('a month before this one: it is closed on its own page')
  await follow('Months')
  await follow(/ is closed first$/, behind)
  await viewing()
  await sees(/Open, and ready to be closed/)
  await press(/^Close [A-Z]\w+ \d{4}$/)
  await sees(/Closed: statement CO-008-0001/)

  t.comment('a command and a spool, which are ended elsewhere')
  await follow('Months')
  const board = await sees(/4|3|2\s+blocked/)
  t.match(board, `tollgate billing set --tenant ${unbilled}`)
  const { legalName: legal_name, ...address } = party
  const profile = { legal_name, ...address, number_prefix: 'LATE', grace_hours: 0 }
  await manage('PUT', `/tenants/${unbilled}/billing`, profile)
  await pool.query(`delete from ops.text_spending where spool = 'spool_1'`)
  await stack.caughtUp()

  await follow('Months')
  await sees(/4\s+ready\s+0\s+blocked/)
  await press('Close 4 months')
  await lookAgain(/Done: 4 months closed/)
  await sees(new RegExp(`${TENANTS}\\s+closed\\s+0\\s+ready\\s+0\\s+blocked`))
}

/** Voids a statement, which takes a second user, and closes its month again. */
async function voidOne(t: Test, page: Page, hand: Hand): Promise<void> {
  const walk = walkOf(page, hand)
  const { follow, press, unfold, write, sees } = walk
  await signIn(page, walk, ann)
  await follow('Months')
  await follow(named(1))
  await write('Reason', 'a wrong refund')
  await press('View tenant')
  await unfold('Propose to void')
  await write('Reason (shown on the statement)', 'a refund was dated wrongly')
  await press('Propose to void CO-002-0001')
  await sees(/A void is proposed/)
  await unfold('Approve the void')
  await press('Void CO-002-0001')
  await sees(/A void is proposed[^]*a proposal is approved by a user other than its proposer/)
  await unfold('finance')
  await press('Sign out')
  await page.getByLabel('Token', { exact: true }).waitFor()

  t.comment('it waits beside the proposals')
  await signIn(page, walk, ben)
  await follow(/^Proposals/)
  const waiting = await sees(/Voids of statements/)
  t.match(waiting, /void CO-002-0001.*a refund was dated wrongly/s)
  await follow('void CO-002-0001')
  await write('Reason', 'second pair of eyes')
  await press('View tenant')
  await unfold('Approve the void')
  await press('Void CO-002-0001')
  await sees(/Open, and ready to be closed/)
  await sees(/Void statement[^]*CO-002-0001[^]*a refund was dated wrongly/)
  await press(/^Close [A-Z]\w+ \d{4}$/)
  await sees(/Closed: statement CO-002-0002/)
}

const walks: readonly (readonly [string, typeof closeReady, string])[] = [
  ['a controller closes a month of all tenants by looking', closeReady, 'with a mouse'],
  ['what blocks the others is ended by following its links', closeRest, 'without script'],
  ['a statement is voided by two users', voidOne, 'by keyboard alone'],
]
for (const [title, walk, name] of atLength(walks.slice(0, 1), walks)) {
  const hand = handNamed(name)
  t.test(`${title}, ${name}`, { skip }, async (t) => {
    await withPage((page) => walk(t, page, hand), hand.options)
  })
}

const ask = (path: string, request?: ConsoleRequest) => askConsole(url, path, request)
const pageOf = (n: number, currency = 'USD', of = month) =>
  `/console/periods/${named(n)}~${currency}~${of}`
const form = { key: 'form_1' }

async function operatorFor(token: string, ...tenants: readonly number[]): Promise<string> {
  const cookie = await signInToConsole(url, token)
  for (const n of tenants) await giveViewReason(url, cookie, named(n))
  return cookie
}
const ofTenant = async (n: number, kind: 'query' | 'admin', role?: 'finance' | 'support') => {
  const scope = { level: 'all_users' } as const
  const owner = { tenantId: named(n), userId: 'user' }
  const issued = { ...owner, kind, name: 'reports', scope, ...(role && { role }) }
  return signInToConsole(url, (await issueToken(access, issued)).secret)
}

t.test('a month of another tenant reads byte for byte as a missing one', async (t) => {
  const reader = await ofTenant(0, 'query', 'finance')
  await stack.caughtUp()
  t.match(await ask(pageOf(0), { cookie: reader }), { status: 200, text: /CO-001-0001/ })
  const bare = ({ status, text }: { status: number; text: string }, tenant: string) => ({
    status,
    text: text.replaceAll(/req_\w+/g, 'req').replaceAll(tenant, 'T'),
  })
  for (const file of ['', '/files/statement.json', '/files/postings.ndjson']) {
    const missing = bare(
      await ask(`/console/periods/co-none~USD~${month}${file}`, { cookie: reader }),
      'co-none',
    )
    t.equal(missing.status, 404, file)
    const foreign = bare(await ask(`${pageOf(1)}${file}`, { cookie: reader }), named(1))
    t.strictSame(foreign, missing, file)
  }
  const board = await ask('/console/periods', { cookie: reader })
  t.match(board, { status: 200, text: new RegExp(named(0)) })
  t.notMatch(board.text, new RegExp(`${named(1)}|Close all`), 'its own row, and no form')
})

t.test('support sees no month, and no form of one is open to others than operators', async (t) => {
  const support = await ofTenant(0, 'query', 'support')
  const reader = await ofTenant(0, 'query', 'finance')
  const administrator = await ofTenant(0, 'admin')
  await stack.caughtUp()
  for (const path of ['/console/periods', pageOf(0), `${pageOf(0)}/files/statement.json`])
    t.match(await ask(path, { cookie: support }), { status: 403, text: /role finance/ }, path)
  for (const cookie of [reader, administrator]) {
    const own = await ask(pageOf(0), { cookie })
    t.match(own, { status: 200, text: /An operator with the role finance/ })
    t.notMatch(own.text, /<form method="post" action="\/console\/periods/)
    const forms = [
      ['/console/periods/close-all', { month, looked: '1' }],
      [`${pageOf(0)}/close`, {}],
      [`${pageOf(0)}/propose-void`, { reason: 'x' }],
      [`${pageOf(0)}/approve`, {}],
      [`${pageOf(0)}/reject`, { reason: 'x' }],
    ] as const
    for (const [path, fields] of forms)
      t.match(await ask(path, { cookie, form: { ...form, ...fields } }), { status: 403 }, path)
  }
  const waiting = await ask('/console/proposals', { cookie: administrator })
  t.equal(waiting.status, 200)
})

t.test(
  'an operator from outside gives a reason before a page, a file or a form of a month',
  async (t) => {
    const cookie = await signInToConsole(url, ann)
    for (const path of [
      pageOf(0),
      `${pageOf(0)}/files/statement.json`,
      `/console/periods?tenant_id=${named(0)}`,
    ]) {
      const before = await ask(path, { cookie })
      t.equal(before.status, 303, path)
      t.match(before.headers.get('location'), /^\/console\/view-reason\?/, path)
      t.notMatch(before.text, 'CO-001')
    }
    const sent = { cookie, form: { ...form, reason: 'wrong' } }
    t.match((await ask(`${pageOf(0)}/propose-void`, sent)).headers.get('location'), /view-reason/)
    t.match(await ask(pageOf(0), { cookie }), { status: 303 })
    t.match(
      await ask('/console/periods', { cookie }),
      { status: 200 },
      'the board of all asks for none',
    )
  },
)

const statementsOf = async (n: number): Promise<readonly string[]> =>
  (await access.log.readStream(statementStream(named(n)))).map(({ type }) => type)

t.test(
  'a statement is voided by two users, and a form that is sent twice closes once',
  async (t) => {
    const [first, second] = [await operatorFor(ann, 2), await operatorFor(ben, 2)]
    const reason = '</td><script>alert(1)</script>" onload="x'
    const sent = { ...form, reason }
    for (let n = 0; n < 2; n += 1)
      t.match(await ask(`${pageOf(2)}/propose-void`, { cookie: first, form: sent }), {
        status: 303,
      })
    const list = await ask('/console/proposals', { cookie: second })
    t.match(list.text, /void CO-003-0001/)
    t.match(list.text, '&lt;script>')
    t.notMatch(list.text, '<script>alert')
    const own = await ask(`${pageOf(2)}/approve`, { cookie: first, form })
    t.match(own, { status: 403, text: /other than its proposer/ })
    t.match(await ask(`${pageOf(2)}/approve`, { cookie: second, form }), { status: 303 })
    const open = await ask(pageOf(2), { cookie: second })
    t.match(open, { status: 200, text: /Open, and ready to be closed/ })
    t.match(open.text, /CO-003-0001[^]*&lt;script>/, 'with the statement that is void')
    t.notMatch(open.text, '<script>alert')
    const late = await ask(`${pageOf(2)}/reject`, {
      cookie: second,
      form: { ...form, reason: 'x' },
    })
    t.match(late, { status: 404, text: /role="alert"/ }, 'the form is gone, and its fault stays')

    const answers = await Promise.all(
      [first, second].map((cookie) => ask(`${pageOf(2)}/close`, { cookie, form })),
    )
    t.strictSame(
      answers.map(({ status }) => status),
      [303, 303],
    )
    const again = await ask(`${pageOf(2)}/close`, { cookie: first, form })
    t.match(again.headers.get('location'), /found=closed/)
    t.match(
      (await ask(again.headers.get('location') ?? '', { cookie: first })).text,
      /the form changed nothing/,
    )
    t.strictSame(await statementsOf(2), [
      'PeriodClosed',
      'VoidProposed',
      'PeriodVoided',
      'PeriodClosed',
    ])
  },
)

t.test('a void statement keeps its files once its month is closed again', async (t) => {
  const cookie = await operatorFor(ann, 2)
  const page = await ask(pageOf(2), { cookie })
  t.match(page.text, /Closed: statement CO-003-0002[^]*Void statements[^]*CO-003-0001/)
  const of = (file: string) => ask(`${pageOf(2)}/files/${file}`, { cookie })
  const [voided, stands] = [
    await of('statement.json?number=CO-003-0001'),
    await of('statement.json'),
  ]
  t.match(JSON.parse(voided.text), { number: 'CO-003-0001', status: 'voided' })
  t.match(JSON.parse(stands.text), { number: 'CO-003-0002', status: 'issued' })
  t.match((await of('postings.ndjson?number=CO-003-0001')).text.split('\n')[0], /CO-003-0001/)
  t.match(await of('statement.json?number=CO-004-0001'), { status: 404 })
})

t.test('the lines of a month are handed out as Parquet', async (t) => {
  const cookie = await operatorFor(ann, 2)
  t.match((await ask(pageOf(2), { cookie })).text, `href="${pageOf(2)}/files/lines.parquet"`)
  const lines = await ask(`${pageOf(2)}/files/lines.parquet`, { cookie })
  t.match(lines, { status: 200, text: /^PAR1[^]*PAR1$/ })
  t.match(
    lines.headers.get('content-disposition'),
    `attachment; filename="lines_${named(2)}_USD_${month}.parquet"`,
  )
})

t.test('lines that come after the close are named on the page of the next month', async (t) => {
  const cookie = await operatorFor(ann, 2)
  const thisMonth = pageOf(2, 'USD', toTimestamp(monthStart(0)).slice(0, 7))
  t.notMatch((await ask(thisMonth, { cookie })).text, 'Late lines')
  await settleOneOfEach(
    access.log,
    Array.from({ length: 5 }, () => {
      return { tenantId: named(2), userId: 'user', tokenId: 'token_1' }
    }),
    {
      fromMs: monthStart(-1),
      toMs: monthStart(0),
      journal: 'journal-late-0',
    },
  )
  await stack.caughtUp()
  const { text } = await ask(thisMonth, { cookie })
  const [, late] = /of them late<\/dt>\s*<dd>(\d+)/.exec(text) ?? []
  t.ok(Number(late) > 20, `${late} are late`)
  const panel = text.slice(text.indexOf('id="late"'))
  t.equal(panel.split('/console/ledger/lines/').length - 1, 20)
  t.match(panel, 'The newest 20')
})

t.test('a month is closed in spite of the audit alone, with a reason', async (t) => {
  const [first, second] = [await operatorFor(ann, 4), await operatorFor(ben, 4)]
  const wrong = { ...form, reason: 'wrong' }
  await ask(`${pageOf(4)}/propose-void`, { cookie: first, form: wrong })
  await ask(`${pageOf(4)}/approve`, { cookie: second, form })
  await keepLastAudit(pool, { findingsInAll: 2, position: '0' })
  const shown = await ask(pageOf(4), { cookie: first })
  t.match(shown.text, /The last audit has 2 findings[^]*Close in spite of the findings/)
  await pool.query(`update ops.last_audit set ended_at = now() - interval '30 h'`)
  t.match(
    (await ask(pageOf(4), { cookie: first })).text,
    /of the audit and without a recent audit[^]*name="despite" value="audit_found audit_old"/,
  )
  const bare = await ask(`${pageOf(4)}/close`, { cookie: first, form })
  t.match(bare, { status: 409, text: /The last audit has 2 findings/ })
  const passed = { ...form, despite: 'audit_found audit_old' }
  const other = await ask(`${pageOf(4)}/close`, {
    cookie: first,
    form: { ...form, despite: 'audit_found books_differ', reason: 'x' },
  })
  t.equal(other.status, 400)
  const unexplained = await ask(`${pageOf(4)}/close`, { cookie: first, form: passed })
  t.match(unexplained, { status: 400, text: /are given together/ })
  const board = await ask(`/console/periods?month=${month}&show=audit_found`, { cookie: first })
  t.match(board.text, new RegExp(named(4)))
  const reason = 'rounding of a test account'
  const done = await ask(`${pageOf(4)}/close`, { cookie: first, form: { ...passed, reason } })
  t.equal(done.headers.get('location'), pageOf(4))
  t.match(
    (await ask(pageOf(4), { cookie: first })).text,
    /audit_found, audit_old[^]*rounding of a test account/,
  )
  await keepLastAudit(pool, { findingsInAll: 0, position: '0' })
})

t.test('a board that changed since the reader looked says what happened', async (t) => {
  const cookie = await operatorFor(ann)
  const old = `/console/periods?month=${month}&begun=3&looked=5&sent=${Date.now()}`
  t.match(
    (await ask(old, { cookie })).text,
    /The board changed since you looked: 5 were ready then, and 3/,
  )
  const empty = toTimestamp(monthStart(-4)).slice(0, 7)
  const sent = { cookie, form: { ...form, month: empty, looked: '7' } }
  const led = await ask('/console/periods/close-all', sent)
  t.equal(led.status, 303)
  t.match(
    (await ask(led.headers.get('location') ?? '', { cookie })).text,
    /Nothing was ready when the form came/,
  )
  const unsaid = { cookie, form: { ...form, month: '2026-13', looked: '1' } }
  t.match(await ask('/console/periods/close-all', unsaid), { status: 400, text: /month/ })
})

t.test(
  '204 for a part that asks while the close goes on, and the page once it is over',
  async (t) => {
    const cookie = await operatorFor(ann, 3)
    const nowMs = Date.now()
    const asked = (since: string, sent = nowMs) =>
      ask(`${pageOf(3)}?sent=${sent}&since=${since}`, { cookie })
    // The walk at length closes it.
    if ((await ask(pageOf(3), { cookie })).text.includes('Closed: statement')) return
    t.match(await asked(`1-${nowMs}`), { status: 204, text: '' })
    t.match(await asked(`2-${nowMs}`), { status: 200, text: /hx-trigger="every 2s"/ })
    const over = await asked(`1-${nowMs - 400_000}`, nowMs - 400_000)
    t.match(over, { status: 200, text: /was not closed within five minutes/ })
    t.notMatch(over.text, 'hx-trigger')
    const page = await ask(`${pageOf(3)}?sent=${nowMs}`, { cookie })
    t.match(page.text, /is being closed[^]*look again/)
  },
)

t.test('addresses that name no month are refused in words', async (t) => {
  const cookie = await operatorFor(ann, 0)
  const cases = [
    ['/console/periods?month=2026-13', 400],
    ['/console/periods?month=2026-11&page=0', 400],
    ['/console/periods?month=2026-11&show=all', 400],
    ['/console/periods?since=x', 400],
    ['/console/periods?tz=Mars/Base', 400],
    ['/console/periods?month=2026-11&month=2026-10', 400],
    ['/console/periods?page=9999', 200],
    ['/console/periods/none', 400],
    [`/console/periods/${named(0)}~EUR~${month}`, 400],
    [`/console/periods/${named(0)}~USD~2026-1`, 400],
    [`/console/periods/${named(0)}~CNY~${month}`, 404],
    [`/console/periods/${named(0)}~USD~2020-01`, 404],
    [`/console/periods/none~USD~${month}`, 404],
    [`/console/periods/${'x'.repeat(200)}~USD~${month}`, 400],
    [`${pageOf(0)}/files/passwords.txt`, 400],
    [`${pageOf(0)}/files/statement.html?credit_note=none`, 404],
    [`${pageOf(0)}?sent=soon`, 400],
  ] as const
  for (const [path, status] of cases) {
    const answer = await ask(path, { cookie })
    t.equal(answer.status, status, `${path.slice(0, 80)} ${answer.text.slice(-300)}`)
    t.notMatch(answer.text, / at \w+ \(|node_modules/, path)
  }
})

t.test('a line has its statement and its proof, and one of an open month says so', async (t) => {
  const cookie = await operatorFor(ann, 0, 3)
  const operator = await issueToken(access, {
    tenantId: other.tenantId,
    userId: other.userId,
    kind: 'query',
    name: 'all',
    scope: { level: 'all_tenants' },
  })
  await stack.caughtUp()
  const idOf = async (n: number): Promise<string> => {
    const path = `/api/query/v1/ledger/lines?limit=1&tenant_id=${named(n)}`
    const { body } = await call(`${url}${path}`, { token: operator.secret })
    return String(body.data.items[0].line_id)
  }
  const line = `/console/ledger/lines/${await idOf(0)}`
  const page = await ask(line, { cookie })
  t.match(page.text, `href="${pageOf(0)}"`)
  const proof = await ask(`${line}/proof`, { cookie })
  t.match(proof, { status: 200, text: /^c2sp\.org\/tlog-proof@v1\n/ })
  t.match(proof.headers.get('content-disposition'), /\.tlog-proof"$/)
  const reader = await ofTenant(1, 'query', 'finance')
  await stack.caughtUp()
  t.match(await ask(`${line}/proof`, { cookie: reader }), { status: 404 }, 'P8')
})
