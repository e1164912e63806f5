import t, { type Test } from 'tap'
import {
  addUser,
  changeTokenLimits,
  issueToken,
  openTenant,
} from '../../src/app/accounts/account-commands.ts'
import { postAdjustment } from '../../src/app/accounts/credit.ts'
import { formatFullAmount, parseAmount } from '../../src/kernel/money.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { access, demo, other, url } = stack
const { tenantId } = demo
const finance = queriesOf(url, demo.queryToken)
const tasks = tasksOf(url, demo.modelToken)

const issue = async (
  kind: 'model' | 'query' | 'profile',
  userId: string,
  part: Partial<Parameters<typeof issueToken>[1]> = {},
) => issueToken(access, { tenantId, userId, kind, name: `a ${kind} token`, ...part })
const chat = (token: string, part: object = {}): Promise<Answer> =>
  call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'text-basic',
      messages: [{ role: 'user', content: 'Hello' }],
      ...part,
    }),
  })

interface Account {
  readonly currency: string
  readonly [figure: string]: string
}
const balanceOf = async (token: string, query = ''): Promise<readonly Account[]> => {
  const answer = await call(`${url}/api/user/balance${query}`, { token })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data.accounts
}
const inUsd = async (token = demo.profileToken): Promise<Account> => {
  const [account] = await balanceOf(token, '?currency=USD')
  if (account === undefined) throw new Error('no balance')
  return account
}
const pico = (account: Account, figure: string): bigint => parseAmount(account[figure] ?? '')

/** Every line that a query shows, by its currency, summed. */
async function summed(query: string): Promise<Readonly<Record<string, bigint>>> {
  const { data } = (await finance.lines(`limit=1000&${query}`)).body
  const sums: Record<string, bigint> = {}
  for (const { currency, amount } of data.items)
    sums[currency] = (sums[currency] ?? 0n) + parseAmount(amount)
  return sums
}

await addUser(access, { tenantId, userId: 'user_second', name: 'Second' })
const second = await issue('model', 'user_second')
const made = await tasks.created({ resolution: '480p' })
await tasks.reaches(made, 'succeeded')
const failed = await tasks.created({ prompt: 'no [[sandbox fail=OutputVideoSensitive]]' })
await tasks.reaches(failed, 'failed')
await tasksOf(url, other.modelToken).created()
await chat(demo.modelToken)
await chat(second.secret, { stream: true })
await chat(other.modelToken)
await stack.caughtUp()

t.test('a balance read right after an answer includes its cost', async (t) => {
  for (let n = 0; n < 5; n += 1) {
    const before = await inUsd()
    const answer = await chat(n % 2 === 0 ? demo.modelToken : second.secret)
    const after = await inUsd()
    const id = answer.headers.get('x-call-id')
    const cost = (await summed(`source_id=${id}`))['USD'] ?? 0n
    t.ok(cost > 0n)
    t.equal(pico(after, 'settled') - pico(before, 'settled'), cost)
    t.equal(pico(before, 'available') - pico(after, 'available'), cost, 'and holds nothing more')
  }
})

t.test('a balance has the figures of the ledger, to the last of twelve decimals', async (t) => {
  await stack.caughtUp()
  const accounts = await balanceOf(demo.profileToken)
  t.same(
    accounts.map(({ currency }) => currency),
    ['CNY', 'USD'],
  )
  for (const account of accounts) {
    for (const [figure, value] of Object.entries(account))
      if (figure !== 'currency') t.match(value, /^-?\d+\.\d{12}$/, figure)
    const { rows } = await stack.gateway.pool.query(
      `select granted, adjusted, settled, held, credit_limit from ledger.balances
       where tenant_id = $1 and currency = $2`,
      [tenantId, account.currency],
    )
    t.match(account, rows[0])
    const sum = (await summed(`currency=${account.currency}`))[account.currency] ?? 0n
    t.equal(account['settled'], formatFullAmount(sum))
    t.equal(account['used_total'], account['settled'])
    t.equal(account['reserved'], account['held'])
    const owned = pico(account, 'granted') + pico(account, 'adjusted') - pico(account, 'settled')
    t.equal(pico(account, 'balance'), owned)
    t.equal(
      pico(account, 'available'),
      owned + pico(account, 'credit_limit') - pico(account, 'held'),
    )
  }
  t.same(await balanceOf(other.profileToken, '?currency=CNY').then((all) => all.length), 1)
})

t.test('an admitted call is held in the balance at once', async (t) => {
  const before = await inUsd()
  const running = chat(demo.modelToken, {
    messages: [{ role: 'user', content: 'slow [[sandbox first-byte-ms=1500]]' }],
    max_tokens: 1_000,
  })
  let during = before
  while (
    pico(during, 'held') === pico(before, 'held') &&
    pico(during, 'settled') === pico(before, 'settled')
  )
    during = await inUsd()
  t.ok(pico(during, 'held') > pico(before, 'held'), 'a call that is nowhere in the log yet')
  t.ok(pico(during, 'available') < pico(before, 'available'))
  t.equal((await running).status, 200)
  t.equal((await inUsd())['held'], before['held'])
  const task = await tasks.created({ prompt: 'x [[sandbox stall]]' })
  const [cny] = await balanceOf(demo.profileToken, '?currency=CNY')
  t.ok(cny !== undefined && pico(cny, 'held') > 0n, `while ${task} runs`)
})

t.test('a query token sees its tenant, an operator each tenant', async (t) => {
  const own = await finance.get('/balance')
  t.equal(own.status, 200)
  t.same(
    own.body.data.items.map((item: { tenant_id: string }) => item.tenant_id),
    [tenantId],
  )
  t.equal(own.body.data.next_cursor, null)
  const narrow = queriesOf(url, (await issue('query', 'user_second')).secret)
  t.equal((await narrow.get('/balance')).body.data.items.length, 1)
  t.match((await narrow.get(`/balance?tenant_id=${other.tenantId}`)).body, {
    error: { code: 'scope_denied', param: 'tenant_id' },
  })
  const scope = { level: 'all_tenants' } as const
  const operator = queriesOf(url, (await issue('query', demo.userId, { scope })).secret)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const at: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { data }: { data: { items: { tenant_id: string }[]; next_cursor: string | null } } = (
      await operator.get(`/balance?limit=1${at}`)
    ).body
    seen.push(...data.items.map((item) => item.tenant_id))
    cursor = data.next_cursor
  }
  t.same(seen, [tenantId, other.tenantId].toSorted())
  const csv = (await operator.get('/balance?format=csv&currency=USD')).text.trimEnd().split('\r\n')
  t.match(csv[0], /^tenant_id,currency,granted,adjusted,settled,held,credit_limit,available/)
  t.equal(csv.length, 3)
})

t.test('403 for other kinds of tokens, 400 for unknown parameters', async (t) => {
  for (const [path, token] of [
    ['/api/user/balance', demo.queryToken],
    ['/api/user/balance', demo.modelToken],
    ['/api/query/v1/balance', demo.profileToken],
    ['/api/query/v1/logs', demo.modelToken],
    ['/api/query/v1/usage', demo.adminToken],
  ] as const) {
    const answer = await call(`${url}${path}`, { token })
    t.equal(answer.status, 403, path)
    t.match(answer.body, { success: false, error: { code: 'wrong_token_kind' } })
  }
  t.equal((await call(`${url}/v1/key`, { token: demo.queryToken })).status, 403)
  const nobody = await call(`${url}/api/user/balance`)
  t.equal(nobody.status, 401)
  t.match(nobody.body, { success: false, error: { code: 'unauthorized' } })
  t.equal((await finance.get('/nothing')).status, 404)
  t.match((await call(`${url}/api/user/nothing`, { token: demo.profileToken })).body, {
    success: false,
    error: { code: 'not_found' },
  })
  for (const [path, token] of [
    ['/api/user/balance', demo.profileToken],
    ['/api/query/v1/balance', demo.queryToken],
    ['/api/query/v1/logs', demo.queryToken],
    ['/api/query/v1/tasks', demo.queryToken],
    ['/api/query/v1/usage', demo.queryToken],
    ['/v1/key', demo.modelToken],
  ] as const) {
    const answer = await call(`${url}${path}?colour=red`, { token })
    t.equal(answer.status, 400, path)
    t.match(answer.text, /colour/)
  }
})

t.test('400 names the parameter that cannot be read', async (t) => {
  for (const [query, param] of [
    ['logs?time_preset=2h', 'time_preset'],
    ['logs?time_preset=custom&start_time=1', 'end_time'],
    ['logs?time_preset=custom&end_time=1', 'start_time'],
    ['logs?time_preset=custom&start_time=2&end_time=1', 'start_time'],
    ['logs?time_preset=custom&start_time=-1&end_time=1', 'start_time'],
    ['logs?time_preset=custom&start_time=1&end_time=253370764801', 'end_time'],
    ['logs?time_preset=custom&start_time=2026-02-30&end_time=2026-03-01', 'start_time'],
    ['logs?start_time=1', 'start_time'],
    ['logs?tz=Mars/Phobos', 'tz'],
    ['logs?page=0', 'page'],
    ['logs?page_size=101', 'page_size'],
    ['logs?type=gift', 'type'],
    ['logs?as_of=-1', 'as_of'],
    ['logs?as_of=999999999999', 'as_of'],
    ['ledger/lines?as_of=999999999999', 'as_of'],
    ['ledger/lines?sort=net', 'sort'],
    ['ledger/lines?sort=amount&format=csv', 'sort'],
    ['ledger/summary?as_of=x', 'as_of'],
    ['tasks?status=odd', 'status'],
    ['usage?group_by=colour', 'group_by'],
    ['usage?group_by=day,model,sku', 'group_by'],
    ['usage?group_by=day,day', 'group_by'],
    ['usage?from=2026-01-01&time_preset=7d', 'time_preset'],
    ['usage?from=2026-02-01&to=2026-01-01', 'from'],
    ['usage?tz=%2B05:30', 'tz'],
    ['balance?currency=EUR', 'currency'],
    ['balance?limit=0', 'limit'],
  ] as const) {
    const answer = await finance.get(`/${query}`)
    t.equal(answer.status, 400, query)
    t.match(answer.body, { success: false, error: { code: 'invalid_request', param } }, query)
  }
})

interface Log {
  readonly [member: string]: unknown
  readonly id: string
  readonly type: string
  readonly amount: string
}
const logsOf = async (query = '', of = finance): Promise<readonly Log[]> => {
  const answer = await of.get(`/logs?page_size=100&${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.data.items
}

t.test('logs list consumption and grants', async (t) => {
  await stack.caughtUp()
  const [task] = await logsOf(`task_id=${made}`)
  t.match(task, {
    type: 'consume',
    tenant_id: tenantId,
    user_id: demo.userId,
    model: 'domestic-video-2-0',
    endpoint: '/provA/api/v3/contents/generations/tasks',
    task_id: made,
    platform_id: /^video_/,
    request_id: /^req_/,
    status: 'settled',
    sku: 'domestic-video-2-0-480p-novideo',
    unit: 'token',
    currency: 'CNY',
    is_stream: null,
  })
  t.type(task?.['duration_ms'], 'number')
  t.match(task?.['usage'], { completion_tokens: task?.['quantity'] })
  const mine = await logsOf('user_id=user_second&type=consume')
  t.ok(mine.length > 0)
  t.ok(mine.every(({ user_id: user }) => user === 'user_second'))
  t.match(mine.at(-1), {
    token_id: second.tokenId,
    token_name: 'a model token',
    endpoint: '/v1/chat/completions',
    task_id: null,
    is_stream: true,
  })
  t.same(await logsOf(`token_id=${second.tokenId}`), mine)
  t.same(await logsOf(`request_id=${String(mine[0]?.['request_id'])}`), mine.slice(0, 2))
  const line = {
    lineId: String(task?.id),
    tenantId,
    currency: 'CNY',
    amount: String(task?.amount),
  } as const
  const refund = { adjustmentId: 'sorry', tenantId, currency: 'CNY', amount: '0.5' } as const
  await postAdjustment(access, { ...refund, reason: 'sorry', correction: { kind: 'line', line } })
  await stack.caughtUp()
  t.match(await logsOf('type=refund'), [
    { type: 'refund', amount: '0.5', status: 'posted', task_id: made, user_id: demo.userId },
  ])
  const topups = await logsOf('type=topup')
  t.same(
    topups.map(({ amount, user_id: user }) => [amount, user]),
    [
      ['10000', null],
      ['10000', null],
    ],
  )
  t.equal((await inUsd())['adjusted'], '0.000000000000')
  const [cny] = await balanceOf(demo.profileToken, '?currency=CNY')
  t.equal(cny?.['adjusted'], '0.500000000000')
})

t.test('pages of logs by number join up to the whole list and to the CSV', async (t) => {
  const { data } = (await finance.get('/logs?page_size=100')).body
  const { total, as_of: asOf } = data
  t.equal(total, data.items.length)
  const seen: string[] = []
  for (let page = 1; page <= Math.ceil(total / 3) + 1; page += 1) {
    const answer = await finance.get(`/logs?page=${page}&page_size=3&as_of=${asOf}`)
    t.match(answer.body.data, { page, page_size: 3, total, as_of: asOf })
    seen.push(...answer.body.data.items.map(({ id }: Log) => id))
  }
  t.same(
    seen,
    data.items.map(({ id }: Log) => id),
  )
  const csv = (await finance.get(`/logs?format=csv&as_of=${asOf}`)).text.trimEnd().split('\r\n')
  t.match(csv[0], /^id,type,created_at,/)
  t.same(
    csv.slice(1).map((row) => row.split(',')[0]),
    seen,
  )
})

t.test('presets of time cover the range up to now', async (t) => {
  const all = await logsOf()
  const zone = encodeURIComponent(middayZone())
  for (const preset of ['1h', '24h', 'today', '7d', '30d'])
    t.same(await logsOf(`time_preset=${preset}&tz=${zone}`), all, preset)
  t.same(await logsOf(`time_preset=yesterday&tz=${zone}`), [])
  const seconds = Math.floor(Date.now() / 1_000)
  const custom = (from: number | string, to: number | string) =>
    logsOf(`time_preset=custom&start_time=${from}&end_time=${to}`)
  t.same(await custom(seconds - 3_600, seconds + 60), all)
  t.same(await custom(0, seconds - 3_600), [])
  const time = (unixS: number): string => new Date(unixS * 1_000).toISOString()
  t.same(await custom(time(seconds - 3_600), time(seconds + 60)), all)
  t.same(await custom(seconds - 3_600, time(seconds + 60)), all)
  t.same(await custom('1970-01-01', time(seconds - 3_600)), [])
  const day = (unixS: number): string => time(unixS).slice(0, 10)
  t.same(await custom(day(seconds - 86_400), day(seconds + 86_400)), all)
  const answer = await finance.get('/usage?time_preset=custom&start_time=2026-01-02&end_time=x')
  t.match(answer.body.message, /^end_time must be Unix seconds up to \d+, or a date or an RFC 3339/)
})

t.test("another tenant's ids answer like unknown ids", async (t) => {
  const theirs = queriesOf(url, other.queryToken)
  const [foreign] = await logsOf('type=consume', theirs)
  t.ok(foreign)
  for (const query of [
    `task_id=${String(foreign?.['platform_id'])}`,
    `request_id=${String(foreign?.['request_id'])}`,
  ]) {
    const asked = await finance.get(`/logs?${query}`)
    const nothing = await finance.get(`/logs?${query.replace(/=.*/, '=nothing')}`)
    t.same({ ...asked.body.data, as_of: 0 }, { ...nothing.body.data, as_of: 0 }, query)
    t.same(asked.body.data.items, [])
    t.equal(asked.body.data.total, 0)
  }
  // A token that does not exist is refused, and so is another tenant's, in the same words.
  const token = String(foreign?.['token_id'])
  const [asked, nothing] = [
    await finance.get(`/logs?token_id=${token}`),
    await finance.get('/logs?token_id=nothing'),
  ]
  t.equal(asked.status, 400)
  t.equal(nothing.status, 400)
  t.equal(String(asked.body.message).replaceAll(token, 'nothing'), nothing.body.message)
  const [task] = (await theirs.get('/tasks')).body.data.items
  t.same((await finance.get(`/tasks?task_id=${task.task_id}`)).body.data.items, [])
  t.same((await finance.get(`/tasks?platform_id=${task.platform_id}`)).body.data.total, 0)
  t.equal((await finance.get(`/usage?group_by=token&token_id=${task.token_id}`)).status, 400)
})

t.test('tasks of every family are listed with their cost', async (t) => {
  const { data } = (await finance.get('/tasks')).body
  t.equal(data.total, data.items.length)
  t.same(
    data.items.map(({ task_id: id }: { task_id: string }) => id).slice(-2),
    [failed, made],
    'newest first',
  )
  t.match((await finance.get(`/tasks?task_id=${made}`)).body.data, {
    total: 1,
    items: [
      {
        task_id: made,
        family: 'video-a',
        status: 'succeeded',
        currency: 'CNY',
        usage: { completion_tokens: Number },
      },
    ],
  })
  const [settled] = (await finance.get('/tasks?status=succeeded')).body.data.items
  const sum = (await summed(`source_id=${settled.platform_id}`))['CNY'] ?? 0n
  t.equal(parseAmount(settled.amount), sum)
  t.match((await finance.get('/tasks?status=failed')).body.data, {
    total: 1,
    items: [{ task_id: failed, amount: null, error_code: String }],
  })
  const counted = async (query: string): Promise<number> =>
    (await finance.get(`/tasks?${query}`)).body.data.total
  t.equal(await counted('user_id=user_second'), 0)
  t.equal(await counted('family=video-b'), 0)
  t.equal(await counted('family=video-a&time_preset=1h'), data.total)
  t.equal(await counted(`time_preset=yesterday&tz=${encodeURIComponent(middayZone())}`), 0)
  const csv = (await finance.get('/tasks?format=csv')).text.trimEnd().split('\r\n')
  t.equal(csv.length, data.total + 1)
})

t.test('usage, lines and summary as of one position have one sum', async (t) => {
  const { as_of: asOf } = (await finance.lines('limit=1')).body.data
  const before = await summed(`as_of=${asOf}`)
  await chat(demo.modelToken)
  await stack.caughtUp()
  t.not((await finance.lines('limit=1')).body.data.as_of, asOf)
  t.same(await summed(`as_of=${asOf}`), before)
  const totals = (items: readonly { currency: string; amount: string }[]) => {
    const sums: Record<string, bigint> = {}
    for (const { currency, amount } of items)
      sums[currency] = (sums[currency] ?? 0n) + parseAmount(amount)
    return sums
  }
  for (const query of [
    `/ledger/summary?group_by=day&as_of=${asOf}`,
    `/usage?as_of=${asOf}`,
    `/usage?group_by=token,surface&as_of=${asOf}`,
    `/usage?group_by=day,user&tz=Asia/Kolkata&as_of=${asOf}`,
    `/usage?time_preset=today&tz=America/New_York&group_by=day,sku&as_of=${asOf}`,
    `/usage?time_preset=this_month&tz=Asia/Kathmandu&group_by=hour,model&as_of=${asOf}`,
    `/usage?from=2026-01-01&group_by=month,tenant&as_of=${asOf}`,
    `/ledger/summary?group_by=day&tz=Asia/Kathmandu&as_of=${asOf}&since=0`,
  ]) {
    const { data } = (await finance.get(query)).body
    t.equal(data.as_of, asOf, query)
    t.same(totals(data.items), before, query)
    if (data.totals !== undefined) t.same(totals(data.totals), before)
  }
  const csv = (await finance.get('/usage?group_by=day,model&format=csv')).text.split('\r\n')
  t.equal(csv[0], 'day,model,currency,unit,quantity,amount,lines,requests,refunded,net')
})

t.test('a summary takes the keys of usage, one or two, and has the same groups', async (t) => {
  const { as_of: asOf } = (await finance.lines('limit=1')).body.data
  for (const [groupBy, member] of [
    ['sku', 'sku'],
    ['user', 'user_id'],
    ['surface', 'surface'],
    ['token,model', 'token_id'],
    ['month,sku', 'month'],
  ] as const) {
    const query = `group_by=${groupBy}&as_of=${asOf}&tz=Asia/Kolkata`
    const usage = (await finance.get(`/usage?${query}`)).body.data
    const summary = (await finance.get(`/ledger/summary?${query}`)).body.data
    t.equal(summary.group_by, groupBy)
    t.ok(summary.items.length > 0)
    const keyed = usage.items.map((item: Record<string, unknown>) => ({
      key: item[member],
      ...item,
    }))
    t.same(summary.items, keyed, groupBy)
  }
  const csv = (await finance.get('/ledger/summary?group_by=day,model&format=csv')).text
  t.match(csv, /^key,currency,unit,quantity,amount,lines,requests,refunded,net,day,model\r\n/)
})

t.test('a tenant without use has no usage in any zone and range', async (t) => {
  const empty = await tenantWithoutUse()
  for (const query of [
    '',
    'tz=Asia/Kolkata',
    'tz=Asia/Kolkata&to=2026-12-01',
    'from=2020-01-01&tz=UTC',
  ]) {
    const answer = await queriesOf(stack.url, empty).get(`/usage?${query}`)
    t.match(answer, { status: 200, body: { data: { items: [], totals: [] } } }, query)
  }
})

async function tenantWithoutUse(): Promise<string> {
  const tenantId = 'tenant_idle'
  await openTenant(stack.access, { tenantId, name: 'idle' })
  await addUser(stack.access, { tenantId, userId: 'user_idle', name: 'idle' })
  const token = { tenantId, userId: 'user_idle', kind: 'query', name: 'idle' } as const
  const { secret } = await issueToken(stack.access, token)
  await stack.caughtUp()
  return secret
}

t.test('a token sees its own facts and the status of its limits', async (t: Test) => {
  const limits = { requestsPerMinute: 10, concurrentTasks: 3 }
  const expiresAt = '2039-01-01T00:00:00.000Z'
  const { secret, tokenId } = await issue('model', 'user_second', {
    limits,
    models: ['text-basic', 'domestic-video-2-0'],
    expiresAt,
  })
  const key = async () => (await call(`${url}/v1/key`, { token: secret })).body
  const fresh = await key()
  t.match(fresh, {
    object: 'key',
    id: tokenId,
    name: 'a model token',
    last_four: secret.slice(-4),
    tenant_id: tenantId,
    user_id: 'user_second',
    models: ['domestic-video-2-0', 'text-basic'],
    expires_at: Date.parse(expiresAt) / 1_000,
    limits: {
      requests_per_minute: { limit: 10, used: 0, remaining: 10 },
      tokens_per_minute: null,
      concurrent_tasks: { limit: 3, used: 0, remaining: 3 },
    },
  })
  t.notMatch(JSON.stringify(fresh), secret)
  await chat(secret)
  await tasksOf(url, secret).created({ prompt: 'x [[sandbox stall]]' })
  await stack.caughtUp()
  t.match(await key(), {
    limits: {
      requests_per_minute: { limit: 10, used: 2, remaining: 8 },
      concurrent_tasks: { limit: 3, used: 1, remaining: 2 },
    },
  })
  await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: 5 } })
  await stack.caughtUp()
  t.match((await key()).limits, { requests_per_minute: { limit: 5 } })
  t.match((await call(`${url}/v1/key`, { token: demo.modelToken })).body, { models: null })
})
