import { Pool } from 'pg'
import t from 'tap'
import { tokensOfSubject } from '../../projections/access/query.ts'
import { call, queriesOf, TASKS, tasksOf } from '../e2e/support/client.ts'
import { formatFullAmount, parseAmount } from '../../src/kernel/money.ts'
import { eventually } from '../helpers/eventually.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { startStack } from '../helpers/stack.ts'
import { environmentOf, tollgate } from './support/commands.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const env = environmentOf(stack)

const run = (...args: readonly string[]) => tollgate(args, env)
/** Runs with --json and reads what it says. @throws when it failed */
async function asked<Result>(...args: readonly string[]): Promise<Result> {
  const ended = await run(...args, '--json')
  if (ended.code !== 0) throw new Error(ended.stderr)
  return JSON.parse(ended.stdout) as Result
}
const statusOf = async (token: string) => (await call(`${stack.url}${TASKS}`, { token })).status
const tenant = 'tenant_acme'

t.test('a tenant is opened with a user, credit and tokens, and calls at once', async (t) => {
  const opened = await asked<{ tenantId: string; userId: string }>(
    'tenant',
    'open',
    'Acme',
    '--id',
    tenant,
  )
  t.equal(opened.tenantId, tenant)
  const again = await asked<typeof opened>('tenant', 'open', 'Acme', '--id', tenant)
  t.same(again, opened, 'the same again changes nothing')
  t.match(await run('tenant', 'open', 'Other name', '--id', tenant), {
    code: 1,
    stderr: /the tenant already exists/,
  })
  await asked('tenant', 'add-user', 'Second', '--tenant', tenant, '--id', 'user_second')
  t.match(await asked('tenant', 'users', '--tenant', tenant), [
    { userId: opened.userId, name: 'Acme' },
    { userId: 'user_second', name: 'Second' },
  ])
  t.match((await run('tenant', 'list')).stdout, /tenant_acme +Acme/)

  const who = ['--tenant', tenant, '--user', opened.userId]
  const model = await asked<{ secret: string }>('token', 'issue', ...who, '--kind', 'model')
  const poor = tasksOf(stack.url, model.secret)
  t.equal((await poor.create()).status, 402, 'prepaid, and nothing was paid yet')
  const grant = ['credit', 'grant', '100.5', '--tenant', tenant, '--currency', 'CNY', '--id', 'g1']
  for (let twice = 0; twice < 2; twice += 1) t.equal((await run(...grant)).code, 0)
  const id = await poor.created()
  await poor.reaches(id, 'succeeded')
  await stack.caughtUp()
  t.match(await asked('credit', 'balance', '--tenant', tenant), [
    { currency: 'CNY', credit: '100.5', settled: '5.0094', held: '0', available: '95.4906' },
  ])
  t.equal((await run('credit', 'limit', '50', '--tenant', tenant, '--currency', 'USD')).code, 0)
  const table = await run('credit', 'balance', '--tenant', tenant)
  t.match(table.stdout, /CNY +100\.5 +5\.0094 +0 +0 +95\.4906\nUSD +0 +0 +0 +50 +50/)

  const query = await asked<{ secret: string }>('token', 'issue', ...who, '--kind', 'query')
  t.equal((await queriesOf(stack.url, query.secret).lines()).body.data.items.length, 1)
})

t.test('the command line shows the balances of the API while tasks run', async (t) => {
  const running = tasksOf(stack.url, stack.demo.modelToken)
  const { tenantId, queryToken } = stack.demo
  const url = `${stack.url}/api/query/v1/balance?currency=CNY`
  for (let tasks = 1; tasks <= 3; tasks += 1) {
    await running.created({ prompt: 'x [[sandbox queued-ms=0 running-ms=600000]]' })
    const shown = await asked<Record<string, string>[]>('credit', 'balance', '--tenant', tenantId)
    const { body } = await call(url, { token: queryToken })
    const { accounts } = body.data.items[0] as { accounts: Record<string, string>[] }
    const full = (amount: string | undefined) => formatFullAmount(parseAmount(amount ?? ''))
    const [cny] = shown.filter(({ currency }) => currency === 'CNY')
    for (const figure of ['settled', 'held', 'available'])
      t.equal(full(cny?.[figure]), accounts[0]?.[figure], `${figure} with ${tasks} tasks`)
    t.ok(parseAmount(cny?.['held'] ?? '0') > 0n)
  }
})

t.test('a token is listed without its secret, rotated, disabled', async (t) => {
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const who = ['--tenant', tenant, '--user', user?.userId ?? '']
  const issue = ['token', 'issue', ...who, '--kind', 'model', '--name', 'batch jobs']
  const issued = await asked<{ tokenId: string; secret: string }>(
    ...issue,
    '--expires',
    '2999-01-01',
    '--models',
    'domestic-video-2-0-fast-260128',
  )
  const tasks = tasksOf(stack.url, issued.secret)
  t.equal((await tasks.create({ model: 'domestic-video-2-0-fast' })).status, 200, 'by its alias')
  t.equal((await tasks.create({ model: 'domestic-video-2-0' })).status, 403)
  const listed = await run('token', 'list', '--tenant', tenant)
  t.match(
    listed.stdout,
    new RegExp(`${issued.tokenId} +model +…${issued.secret.slice(-4)} +batch jobs`),
  )
  t.notOk(listed.stdout.includes(issued.secret))

  const rotate = ['token', 'rotate', issued.tokenId, '--overlap', '0']
  const rotated = await asked<{ secret: string }>(...rotate)
  t.equal(await statusOf(rotated.secret), 200)
  await eventually('the old secret ends', async () =>
    (await statusOf(issued.secret)) === 401 ? true : undefined,
  )
  t.equal((await run('token', 'disable', issued.tokenId)).code, 0)
  await eventually('disabled', async () =>
    (await statusOf(rotated.secret)) === 401 ? true : undefined,
  )
})

t.test(
  'a token is issued with limits, which are changed and lifted while it is used',
  async (t) => {
    const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
    const issue = [
      'token',
      'issue',
      '--tenant',
      tenant,
      '--user',
      user?.userId ?? '',
      '--kind',
      'model',
    ]
    const { tokenId, secret } = await asked<{ tokenId: string; secret: string }>(
      ...issue,
      '--rpm',
      '60',
      '--tpm',
      'none',
      '--concurrent-tasks',
      '1',
    )
    const tokens = () =>
      asked<{ tokenId: string; limits: unknown }[]>('token', 'list', '--tenant', tenant)
    const limits = async () => (await tokens()).find((one) => one.tokenId === tokenId)?.limits
    t.same(await limits(), { requestsPerMinute: 60, tokensPerMinute: null, concurrentTasks: 1 })
    const tasks = tasksOf(stack.url, secret)
    await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
    t.equal((await tasks.create()).status, 429)
    const changed = await run(
      'token',
      'limit',
      tokenId,
      '--concurrent-tasks',
      'none',
      '--tpm',
      '9000',
      '--reason',
      'case 4713',
    )
    const hidden = ['--tpm', '9', '--reason', 'two\nlines']
    t.match(await run('token', 'limit', tokenId, ...hidden), {
      code: 2,
      stderr: /--reason must be/,
    })
    t.match(changed.stdout, /^limits: rpm 60, tpm 9000, concurrent-tasks none$/m)
    await eventually('room', async () => ((await tasks.create()).status === 200 ? true : undefined))
    const back = ['--rpm', 'default', '--tpm', 'default', '--concurrent-tasks', 'default']
    t.match(await asked('token', 'limit', tokenId, ...back), { tokenId, limits: {} })
    t.same(await limits(), {})
    t.match((await run('token', 'list', '--tenant', tenant)).stdout, /^TOKEN .* LIMITS$/m)
    const { stdout: help } = await run('token', 'limit', '--help')
    t.match(help, /--rpm <n>.*per minute/)
    t.match(help, /"none"[^.]*"default"[\s\S]*RATE_LIMIT_RPM/)
  },
)

t.test('a token is bound to addresses, models and an expiry, and unbound', async (t) => {
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const who = ['--tenant', tenant, '--user', user?.userId ?? '']
  const issued = await asked<{ tokenId: string; secret: string }>(
    'token',
    'issue',
    ...who,
    '--kind',
    'model',
    '--addresses',
    '203.0.113.7/24, ::1',
  )
  const create = async () => (await tasksOf(stack.url, issued.secret).create()).status
  t.equal(await create(), 403)
  const update = async (...changes: readonly string[]) =>
    (await run('token', 'update', issued.tokenId, ...changes)).stdout
  const bound = await update('--models', 'domestic-video-2-0', '--expires', '2099-01-01')
  t.match(bound, /^addresses: 203\.0\.113\.0\/24,::1$/m, 'what is not named stays')
  t.match(bound, /^models: domestic-video-2-0$/m)
  t.match(bound, /^expires: 2099-01-01T00:00:00\.000Z$/m)
  const freed = await update(
    '--addresses',
    'any',
    '--models',
    'all',
    '--expires',
    'never',
    '--name',
    'freed',
  )
  t.match(freed, /^name: freed\nmodels: all\naddresses: any\nexpires: never$/m)
  await eventually('anywhere', async () => ((await create()) === 200 ? true : undefined))
})

t.test('balance alerts are set one by one, and shown with their secret', async (t) => {
  const set = (...args: string[]) => run('balance-alert', 'set', '--tenant', tenant, ...args)
  const first = await set(
    '--currency',
    'CNY',
    '--below',
    '100.0',
    '--webhook',
    'https://9.9.9.9/low',
  )
  t.match(first.stdout, /1 balance alert \(revision 1\)/)
  t.match(first.stdout, /sent to https:\/\/9\.9\.9\.9\/low, signed with whsec_/)
  t.match(first.stdout, /^CNY +100\b/m)
  t.match(await set('--currency', 'CNY', '--below', '100'), { code: 0, stderr: /unchanged/ })
  interface Shown {
    readonly thresholds: readonly { readonly currency: string; readonly below: string }[]
    readonly webhookSecret: string
    readonly webhookUrl?: string
  }
  const shown = () => asked<Shown>('balance-alert', 'show', '--tenant', tenant)
  const before = await shown()
  await set('--currency', 'USD', '--below', '2.5', '--rotate-secret', '--actor', 'Bob')
  const after = await shown()
  t.same(after.thresholds, [
    { currency: 'CNY', below: '100' },
    { currency: 'USD', below: '2.5' },
  ])
  t.not(after.webhookSecret, before.webhookSecret)
  const history = (await run('replay', '--tenant', tenant)).stdout
  t.match(history, /BalanceAlertsSet[^\n]*below 100 CNY, 2\.5 USD to https:[^\n]* \(2\), by Bob/)
  t.notMatch(history, /whsec_/)
  await set('--webhook', 'none')
  t.equal((await shown()).webhookUrl, undefined)
  for (const currency of ['CNY', 'USD'])
    await run('balance-alert', 'remove', '--tenant', tenant, '--currency', currency)
  t.same((await shown()).thresholds, [])
})

t.test('limits of a tenant and of its users are set one by one', async (t) => {
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const userId = user?.userId ?? ''
  const set = (...args: string[]) => run('limit', 'set', '--tenant', tenant, ...args)
  t.match((await set('--rpm', '600', '--concurrent-calls', '50')).stdout, /^tenant +600 +50 *$/m)
  await set('--user', userId, '--tpm', '9000', '--concurrent-tasks', '3')
  t.match(await set('--rpm', '600'), { code: 0, stderr: /unchanged/ })
  await set('--rpm', 'none', '--actor', 'Bob', '--reason', 'for the launch')
  t.match(await asked('limit', 'list', '--tenant', tenant), {
    revision: 3,
    limits: [
      { subject: `user ${userId}`, tokensPerMinute: 9_000, concurrentTasks: 3 },
      { subject: 'tenant', concurrentCalls: 50 },
    ],
  })
  const history = (await run('replay', '--tenant', tenant)).stdout
  t.match(history, /LimitsSet[^\n]*limits of user [^\n]*, tenant \(3\), by Bob/)
  await set('--concurrent-calls', 'none')
  t.equal((await run('limit', 'remove', '--tenant', tenant, '--user', userId)).code, 0)
  t.match((await run('limit', 'list', '--tenant', tenant)).stdout, /no limits \(revision 5\)/)
})

t.test('a query or an admin token is issued with a role, and lists show it', async (t) => {
  const who = ['--tenant', tenant, '--user', 'user_of_finance']
  t.equal(
    (await run('tenant', 'add-user', 'Finance', '--tenant', tenant, '--id', 'user_of_finance'))
      .code,
    0,
  )
  const issue = (...args: string[]) => run('token', 'issue', ...who, ...args)
  const issued = await issue('--kind', 'admin', '--role', 'finance', '--scope', 'all_users')
  t.match(issued, { code: 0, stdout: /adm-/ })
  t.match((await run('token', 'list', '--tenant', tenant)).stdout, / admin \(finance\) /)
  const [shown] = (
    await asked<Record<string, unknown>[]>('token', 'list', '--tenant', tenant)
  ).filter(({ role }) => role !== undefined)
  t.match(shown, { kind: 'admin', role: 'finance', scope: { level: 'all_users' } })
  t.match(await issue('--kind', 'query', '--role', 'support', '--scope', 'all_users'), { code: 0 })
  t.match((await run('token', 'list', '--tenant', tenant)).stdout, / query \(support\) /)
  const history = (await run('replay', '--tenant', tenant)).stdout
  t.match(history, /TokenIssued[^\n]*admin token [^\n]* of the role finance/)
  t.match(history, /TokenIssued[^\n]*query token [^\n]* of the role support/)
  for (const [args, message] of [
    [['--kind', 'admin', '--role', 'auditor'], /--role must be finance or support/],
    [['--kind', 'model', '--role', 'finance'], /--role is for a query or an admin token/],
  ] as const)
    t.match(await issue(...args), { code: 2, stderr: message })
})

t.test('a token of a person who signs in by name shows no secret', async (t) => {
  const pool = new Pool({ connectionString: stack.databaseUrl })
  t.teardown(() => pool.end())
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const who = ['--tenant', tenant, '--user', user?.userId ?? '']
  const issue = ['token', 'issue', ...who, '--subject', 'Mia@Example.com', '--role', 'support']
  const issued = await asked<{ tokenId: string }>(...issue, '--kind', 'query')
  t.same(issued, { tokenId: issued.tokenId, subject: 'mia@example.com' })
  t.match(await run(...issue, '--kind', 'admin', '--scope', 'all_users'), {
    stderr: new RegExp(`signs in with this token from now on, not with ${issued.tokenId}`),
  })
  const [newest, older, ...others] = await tokensOfSubject(pool, 'mia@example.com')
  t.equal(older?.tokenId, issued.tokenId)
  t.same(others, [])
  t.equal((await run('token', 'disable', newest?.tokenId ?? '')).code, 0)
  const left = await tokensOfSubject(pool, 'mia@example.com')
  t.same(left, [older], 'a disabled one is not used')
  t.match(await run(...issue, '--kind', 'admin'), { stderr: /chooses one at each sign-in/ })
  t.match(await run('token', 'rotate', issued.tokenId), { code: 1, stderr: /no secret to rotate/ })
  t.match(await run(...issue, '--kind', 'model'), {
    stderr: /--subject is for a query or an admin/,
  })
  t.match(await run('token', 'list', '--tenant', tenant), {
    stdout: /query \(support\) .*mia@exam/,
  })
})

t.test('a billing profile is set by its members, and shown', async (t) => {
  const set = (...args: string[]) => run('billing', 'set', '--tenant', tenant, ...args)
  t.match((await run('billing', 'show', '--tenant', tenant)).stdout, /statements for: not set/)
  t.match(await set('--legal-name', 'Acme'), { code: 1, stderr: /address: must have 1 to 6 lines/ })
  const party = ['--legal-name', 'Acme', '--address', 'Torstr. 1', 'Berlin', '--country', 'DE']
  t.match(await set(...party), { code: 1, stderr: /number_prefix: is missing/ })
  const first = await set(...party, '--number-prefix', 'ACME', '--emails', 'a@acme.example,b@c.de')
  t.match(first.stdout, /billing \(revision 1\)\nstatements for: Acme, Torstr\. 1, Berlin, DE\n/)
  const terms = ['--terms', 'postpaid', '--grace-hours', '24', '--time-zone', 'Europe/Berlin']
  await set(...terms, '--po-number', 'PO-7', '--actor', 'Bob')
  t.match(await set(...terms), { code: 0, stderr: /unchanged/ })
  await set('--po-number', 'none', '--emails', 'none', '--language', 'zh')
  t.same(await asked('billing', 'show', '--tenant', tenant), {
    tenantId: tenant,
    revision: 3,
    legalName: 'Acme',
    address: ['Torstr. 1', 'Berlin'],
    country: 'DE',
    emails: [],
    language: 'zh',
    timeZone: 'Europe/Berlin',
    numberPrefix: 'ACME',
    terms: 'postpaid',
    graceHours: 24,
  })
  const history = (await run('replay', '--tenant', tenant)).stdout
  t.match(
    history,
    /BillingProfileSet[^\n]*Acme, DE, postpaid, ACME by the months of Europe\/Berlin \(2\), by Bob/,
  )
  for (const [code, args, message] of [
    [2, [], /name a value to set/],
    [2, ['--terms', 'later'], /--terms must be one of prepaid, postpaid/],
    [2, ['--language', 'de'], /--language must be one of en, zh/],
    [2, ['--grace-hours', '-1'], /--grace-hours must be a whole number/],
    [1, ['--grace-hours', '721'], /grace_hours: must be a whole number from 0 to 720/],
    [1, ['--time-zone', 'CET'], /time_zone: must be UTC or a zone .*Europe\/Berlin/],
  ] as const)
    t.match(await set(...args), { code, stderr: message })
})

t.test('budgets are set one by one, and shown with their spending', async (t) => {
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const of = ['--tenant', tenant, '--currency', 'CNY', '--period', 'day']
  const userId = user?.userId ?? ''
  const set = await run('budget', 'set', ...of, '--hard', '50.0', '--time-zone', 'Asia/Kolkata')
  t.match(set.stdout, /1 budget by the days of Asia\/Kolkata \(revision 1\)/)
  t.match(set.stdout, /^tenant +CNY +day +50 .*T18:30:00\.000Z$/m)
  const again = await run('budget', 'set', ...of, '--hard', '50')
  t.match(again, { code: 0, stderr: /unchanged/ })
  await run('budget', 'set', ...of, '--user', userId, '--soft', '0', '--actor', 'Bob')
  t.match(await asked('budget', 'list', '--tenant', tenant), {
    revision: 2,
    timeZone: 'Asia/Kolkata',
    budgets: [
      { subject: 'tenant', hard: '50' },
      { subject: `user ${userId}`, soft: '0', softReached: true },
    ],
  })
  const history = (await run('replay', '--tenant', tenant)).stdout
  t.match(history, /BudgetsSet[^\n]*2 budgets by the days of Asia\/Kolkata \(2\), by Bob/)
  for (const user of [[], ['--user', userId]])
    t.equal((await run('budget', 'remove', ...of, ...user)).code, 0)
  t.match(await asked('budget', 'list', '--tenant', tenant), { revision: 4, budgets: [] })
})

t.test('config prints the settings in effect and hides secrets', async (t) => {
  const ended = await tollgate(['config'], { ...env, SANDBOX: 'on' })
  t.equal(ended.code, 0)
  t.match(ended.stdout, /^PORT=8080$/m)
  t.match(ended.stdout, /^DATABASE_URL=\(set, hidden\)$/m)
  t.match(ended.stdout, /^MARKER_SECRET=\(set, hidden\)$/m)
  t.notOk(ended.stdout.includes('a marker secret'))
})

t.test('changes are listed by the name that was given at a shell', async (t) => {
  const made = await run('changes', '--by', 'Bob', '--today', '--tz', middayZone())
  t.equal(made.code, 0, made.stderr)
  t.match(made.stdout, /^AT +BY +WHAT +TENANT_ID +/)
  t.match(made.stdout, / Bob +budgets +/)
  t.match(made.stdout, / Bob +limits +/)
  t.match(made.stdout, /for the launch/)
  const ofTokens = await run('changes', '--tenant', tenant, '--today', '--tz', middayZone())
  t.match(ofTokens.stdout, /token limits[^\n]*case 4713/)
  t.match(await run('changes', '--by', 'Bop'), { code: 2, stderr: /--by: there is no person/ })
  t.match(await run('changes', '--tenant', tenant, '--to', '2026-01-01'), {
    code: 0,
    stderr: /no rows/,
  })
})

t.test('commands read and change the same state without a running gateway', async (t) => {
  await stack.gateway.stop()
  t.equal((await run('credit', 'grant', '1', '--tenant', tenant, '--currency', 'CNY')).code, 0)
  t.match(await asked('credit', 'balance', '--tenant', tenant), [{ credit: '101.5' }, {}])
  t.match(await asked('audit'), { ok: true, notCompared: 0 })
  t.match(await asked('rebuild', 'access'), { outcome: 'swapped' })
})

t.test('a written event is reported although the read model does not advance', async (t) => {
  const pool = new Pool({ connectionString: stack.databaseUrl })
  t.teardown(() => pool.end())
  // As if a newer release had built it: this one does not go on with it.
  await pool.query(`update engine.checkpoints set version = 99 where name in ('access', 'ledger')`)
  const [user] = await asked<{ userId: string }[]>('tenant', 'users', '--tenant', tenant)
  const who = ['--tenant', tenant, '--user', user?.userId ?? '']
  const [issued, granted] = await Promise.all([
    run('token', 'issue', ...who, '--kind', 'model', '--json'),
    run('credit', 'grant', '1', '--tenant', tenant, '--currency', 'CNY'),
  ])
  t.equal(issued.code, 0)
  t.match(JSON.parse(issued.stdout), { secret: /^sk-/ }, 'the secret is shown only now')
  t.match(issued.stderr, /it is written, but the access read model is behind/)
  t.match(granted, { code: 0, stdout: /^grantId: /, stderr: /the ledger read model is behind/ })
})
