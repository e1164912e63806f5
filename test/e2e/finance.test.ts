import t from 'tap'
import { addUser, issueToken, openTenant } from '../../src/app/accounts/account-commands.ts'
import { grantCredit } from '../../src/app/accounts/credit.ts'
import { startStack } from '../helpers/stack.ts'
import { queriesOf, tasksOf } from './support/client.ts'

const stack = await startStack({
  env: { QUERY_POOL_SIZE: '2', QUERY_TIMEOUT_MS: '1500', QUERY_RATE_LIMIT_RPM: '60' },
})
t.teardown(() => stack.stop())
const { demo, other, access } = stack
const tasks = tasksOf(stack.url, demo.modelToken)
const finance = queriesOf(stack.url, demo.queryToken)

interface Line {
  readonly line_id: string
  readonly sku: string
  readonly currency: string
  readonly amount: string
  readonly user_id: string
  readonly tenant_id: string
  readonly settled_at: string
}

async function tokenFor(
  tenantId: string,
  userId: string,
  scope?: Parameters<typeof issueToken>[1]['scope'],
): Promise<string> {
  const kind = scope === undefined ? 'model' : 'query'
  const input = { tenantId, userId, kind, name: 'test', ...(scope ? { scope } : {}) } as const
  return (await issueToken(access, input)).secret
}

await addUser(access, { tenantId: demo.tenantId, userId: 'user_second', name: 'Second' })
const second = tasksOf(stack.url, await tokenFor(demo.tenantId, 'user_second'))
const foreign = tasksOf(stack.url, other.modelToken)
const made = [
  [tasks, await tasks.created({ resolution: '480p' })],
  [tasks, await tasks.created({ model: 'overseas-video-2-0', resolution: '1080p' })],
  [tasks, await tasks.created({ model: 'domestic-video-2-5', resolution: '480p' })],
  [second, await second.created()],
  [foreign, await foreign.created()],
] as const
for (const [who, id] of made) await who.reaches(id, 'succeeded')
await stack.caughtUp()

const linesOf = async (token: string, query = ''): Promise<readonly Line[]> => {
  const answer = await queriesOf(stack.url, token).lines(query)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data.items
}

t.test('lines come newest first, page by page through the cursor', async (t) => {
  const whole = await linesOf(demo.queryToken)
  t.equal(whole.length, 4)
  t.same(
    whole.map(({ settled_at }) => settled_at),
    whole
      .map(({ settled_at }) => settled_at)
      .toSorted()
      .toReversed(),
  )
  const seen: Line[] = []
  let cursor: string | null = ''
  for (let page = 0; page < 5 && cursor !== null; page += 1) {
    const answer = await finance.lines(`limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`)
    seen.push(...answer.body.data.items)
    cursor = answer.body.data.next_cursor
  }
  t.equal(cursor, null)
  t.same(seen, whole)
})

t.test('filters by sku, model, currency, source, user and time', async (t) => {
  const [line] = await linesOf(demo.queryToken, 'sku=overseas-video-2-0-1080p-novideo')
  t.match(line, { currency: 'USD', tenant_id: demo.tenantId })
  const skus = async (query: string) =>
    (await linesOf(demo.queryToken, query)).map(({ sku }) => sku)
  t.same(await skus('currency=USD'), ['overseas-video-2-0-1080p-novideo'])
  t.same(await skus('model=domestic-video-2-5'), ['domestic-video-2-5-novideo'])
  t.same(await skus('user_id=user_second'), ['domestic-video-2-0-720p-novideo'])
  t.same(await skus('from=2000-01-01&to=2001-01-01'), [])
  t.equal((await skus('from=2000-01-01')).length, 4)
  for (const [query, param] of [
    ['from=yesterday', 'from'],
    ['from=2026-02-01&to=2026-01-01', 'from'],
    ['currency=EUR', 'currency'],
    ['limit=0', 'limit'],
    ['cursor=x', 'cursor'],
    ['format=xml', 'format'],
  ] as const) {
    const answer = await finance.lines(query)
    t.equal(answer.status, 400, query)
    t.match(answer.body, { success: false, error: { code: 'invalid_request', param } })
  }
})

t.test('lines as CSV, by Accept or by format', async (t) => {
  const byFormat = await finance.lines('format=csv')
  t.match(byFormat.headers.get('content-type'), /^text\/csv/)
  t.match(byFormat.headers.get('content-disposition'), /"ledger-lines_[\w.-]+_at-\d+\.csv"/)
  const rows = byFormat.text.trimEnd().split(/\r?\n/)
  t.match(rows[0], /^line_id,settled_at,tenant_id,user_id,token_id,source_id,native_id,surface/)
  const lines = await linesOf(demo.queryToken)
  t.same(
    rows.slice(1).map((row) => row.split(',')[0]),
    lines.map(({ line_id }) => line_id),
  )
  const byAccept = await finance.get('/ledger/lines', { accept: 'text/csv' })
  t.equal(byAccept.text, byFormat.text)
})

t.test('summaries add up exactly, never across currencies', async (t) => {
  const lines = await linesOf(demo.queryToken)
  for (const group of ['sku', 'day', 'model', 'tenant']) {
    const { body } = await finance.summary(`group_by=${group}`)
    t.equal(body.data.group_by, group)
    for (const currency of ['CNY', 'USD']) {
      const amounts = (items: readonly { currency: string; amount: string }[]) =>
        items.flatMap((item) => (item.currency === currency ? [item.amount] : []))
      t.equal(sum(amounts(body.data.items)), sum(amounts(lines)), `${group} ${currency}`)
    }
  }
  const csv = await finance.summary('group_by=sku&format=csv')
  const rows = csv.text.trimEnd().split(/\r?\n/)
  t.equal(rows[0], 'key,currency,unit,quantity,amount,lines,requests,refunded,net,sku')
  t.equal(rows.length, 5)
})

/** Exact: amounts have at most 12 decimals. */
function sum(amounts: readonly string[]): bigint {
  return amounts.reduce((total, amount) => {
    const [whole = '0', fraction = ''] = amount.split('.')
    return total + BigInt(whole + fraction.padEnd(12, '0'))
  }, 0n)
}

t.test('a query token sees the lines of its scope only', async (t) => {
  const { tenantId, userId } = demo
  const own = await tokenFor(tenantId, userId, { level: 'current_user' })
  const some = await tokenFor(tenantId, userId, {
    level: 'specified_users',
    userIds: ['user_second'],
  })
  const operator = await tokenFor(tenantId, userId, { level: 'all_tenants' })
  const users = async (token: string) =>
    new Set((await linesOf(token)).map(({ user_id }) => user_id))
  t.same(await users(own), new Set([userId]))
  t.same(await users(some), new Set(['user_second']))
  t.same(await users(demo.queryToken), new Set([userId, 'user_second']))
  t.same(await users(operator), new Set([userId, 'user_second', other.userId]))
  t.same(await users(other.queryToken), new Set([other.userId]))

  const mine = made[0][1]
  t.equal((await queriesOf(stack.url, own).history(mine)).status, 200)
  t.equal((await queriesOf(stack.url, some).history(mine)).status, 404)
  t.equal((await queriesOf(stack.url, other.queryToken).history(mine)).status, 404)
  const asked = await queriesOf(stack.url, demo.queryToken).lines(`tenant_id=${other.tenantId}`)
  t.equal(asked.status, 403)
  t.match(asked.body, { success: false, error: { code: 'scope_denied', param: 'tenant_id' } })
  t.equal((await queriesOf(stack.url, own).lines('user_id=user_second')).status, 403)
  t.equal((await linesOf(operator, `tenant_id=${other.tenantId}`)).length, 1)
})

t.test('401 without a token, 403 with one of another kind', async (t) => {
  t.equal((await queriesOf(stack.url, 'qak-nobody').lines()).status, 401)
  t.equal((await queriesOf(stack.url, demo.modelToken).lines()).status, 403)
  t.equal((await queriesOf(stack.url, demo.adminToken).summary()).status, 403)
})

t.test('402 insufficient_balance before a request is sent, also for many at once', async (t) => {
  const { tenantId } = await openPoorTenant()
  const poor = tasksOf(stack.url, await tokenFor(tenantId, 'user_poor'))
  const before = stack.sandbox.accepted().length
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => poor.create({ prompt: 'x [[sandbox stall]]' })),
  )
  const accepted = answers.filter(({ status }) => status === 200)
  t.equal(accepted.length, 2, 'its credit holds two')
  t.equal(stack.sandbox.accepted().length - before, 2)
  const refused = answers.find(({ status }) => status === 402)
  t.match(refused?.body.error, {
    code: 'insufficient_balance',
    type: 'PaymentRequired',
    param: '',
    message: /^the request needs a hold of [\d.]+ CNY; [\d.]+ CNY is available/,
  })
})

t.test('422 for a query that takes too long, without delaying paid calls', async (t) => {
  const holder = await stack.gateway.pool.connect()
  await holder.query('begin; lock table ledger.lines in access exclusive mode')
  try {
    // One token runs three queries at once: they hold both connections, and one waits.
    const summary = finance.summary('from=2026-01-01T01:00:00Z')
    const readers = [finance.lines(), summary, finance.lines()]
    let answered = 0
    for (const reader of readers) void reader.then(() => (answered += 1))
    t.equal((await tasks.create()).status, 200)
    t.equal((await tasks.list()).status, 200)
    t.equal(answered, 0, 'callers have connections of their own')
    const answers = await Promise.all(readers)
    for (const answer of answers) {
      t.equal(answer.status, 422)
      t.match(answer.body, {
        success: false,
        message: /^The query takes too long: narrow it by tenant_id/,
        error: { code: 'query_too_long' },
      })
    }
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  t.equal((await finance.lines()).status, 200)
})

t.test('429 for a query token beyond its rate', async (t) => {
  const secret = await tokenFor(demo.tenantId, 'user_second', { level: 'current_user' })
  const busy = queriesOf(stack.url, secret)
  t.equal((await busy.lines('limit=0')).status, 400, 'what is refused counts nothing')
  const startedMs = performance.now()
  const answers = await Promise.all(Array.from({ length: 120 }, () => busy.summary()))
  const elapsedS = (performance.now() - startedMs) / 1_000
  const served = answers.filter(({ status }) => status === 200).length
  // What was used flows back meanwhile, one a second.
  t.ok(served >= 60 && served <= 61 + elapsedS, `${served} served in ${elapsedS} s`)
  const refusals = answers.filter(({ status }) => status !== 200)
  const [refused] = refusals
  if (refused === undefined) return t.fail('none of 120 was refused')
  t.same(new Set(refusals.map(({ status }) => status)), new Set([429]))
  t.match(refused.body, { success: false, error: { code: 'rate_limited' } })
  const wait = Number(refused.headers.get('retry-after'))
  t.ok(wait >= 1 && wait <= 60, `${wait} s`)
  t.equal((await finance.lines()).status, 200, 'another token goes on')
})

async function openPoorTenant(): Promise<{ readonly tenantId: string }> {
  const { tenantId } = await openTenant(access, { tenantId: 'tenant_poor', name: 'poor' })
  await addUser(access, { tenantId, userId: 'user_poor', name: 'poor' })
  await grantCredit(access, { tenantId, currency: 'CNY', amount: '12', reason: 'test' })
  await stack.caughtUp()
  return { tenantId }
}
