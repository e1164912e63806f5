import t from 'tap'
import { issueToken } from '../../src/app/accounts/account-commands.ts'
import { postAdjustment } from '../../src/app/accounts/credit.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders, tasksOf } from './support/client.ts'

/** The life of a task, a call and an asset: its steps, its money, and what is related. */

const stack = await sharedStack(t)
const { url, demo, other, access } = stack
const tasks = tasksOf(url, demo.modelToken)
const life = (id: string, query = '', token = demo.queryToken): Promise<Answer> =>
  queriesOf(url, token).get(`/lives/${encodeURIComponent(id)}${query}`)
const env = environmentOf(stack)

/** Text of prompts that must be in no life, ticket or reply. */
const CANARY = 'canary-5b1f'

function chat(rest: object = {}, token = demo.modelToken, key?: string): Promise<Answer> {
  const messages = [{ role: 'user', content: `Hello ${CANARY}` }]
  return call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({ model: 'text-basic', messages, ...rest }),
  })
}

const created = await tasks.create({ prompt: `a boat ${CANARY}` })
const nativeId = String(created.body.id)
const platformId = String(created.headers.get('x-platform-id'))
const requestId = String(created.headers.get('x-request-id'))
await tasks.reaches(nativeId, 'succeeded')

interface ShownStep {
  readonly n: number
  readonly title: string
  readonly by: string
  readonly money: readonly { readonly word: string; readonly amount: string }[]
  readonly after: Readonly<Record<string, string>>
}

t.test('a settled task step by step, with its money and the formula of its charge', async (t) => {
  const { status, body } = await life(platformId)
  t.equal(status, 200)
  const { data } = body
  t.match(data, {
    id: platformId,
    object: 'life',
    kind: 'task',
    state: 'settled',
    aside: [],
    receipt: { amount: '5.0094', held: '0', native_id: nativeId },
    deadline_at: null,
    last_asked_at: null,
    polls: null,
    attempts: 1,
    callback: false,
    related: [],
    result: { what: 'result', kept_by: 'provider' },
  })
  const lastMs = Date.parse(data.steps.at(-1).at) - Date.parse(data.steps[0].at)
  t.equal(data.duration_ms, lastMs)
  const steps: readonly ShownStep[] = data.steps
  t.same(
    steps.map(({ n }) => n),
    steps.map((_, index) => index + 1),
  )
  t.match(steps[0], { title: 'requested', by: 'caller', money: [{ word: 'held' }] })
  const held = String(steps[0]?.money[0]?.amount)
  t.equal(steps[0]?.after['held'], held)
  t.match(steps.at(-1), {
    title: 'succeeded and settled',
    by: 'provider',
    types: ['TaskSucceeded', 'TaskSettled'],
    detail: /108900 completion tokens/,
    money: [{ word: 'charged', amount: '5.0094' }, { word: 'freed' }],
    formulas: ['108900 × 46 ÷ 1000000 = 5.0094'],
    after: { held: '0', charged: '5.0094', given_back: '0', net: '5.0094' },
  })
})

t.test('one life by native id, request id and ledger line', async (t) => {
  const one = (await life(platformId)).body
  for (const id of [nativeId, requestId, `${platformId}:1`]) t.same((await life(id)).body, one, id)
})

t.test('the state as of a step, and the difference of two', async (t) => {
  const { data } = (await life(platformId, '?at=1&tz=Asia/Kolkata')).body
  t.match(data.as_of, { step: 1, title: 'requested', charged: '0', at: /\+05:30$/ })
  for (const { at } of data.steps) t.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+05:30$/)
  const { difference } = (await life(platformId, '?against=1')).body.data
  t.equal(difference.from_step, 1)
  t.match(
    difference.changes.find((one: { readonly name: string }) => one.name === 'charged'),
    { from: '0', to: '5.0094' },
  )
  t.same(
    (await life(platformId, `?at=1&against=${difference.to_step}`)).body.data.difference,
    difference,
  )
  for (const [query, message] of [
    ['?at=99', /at must be a step from 1 to \d+/],
    ['?against=0', /against/],
    ['?at=1.5', /at/],
    ['?tz=Mars/Base', /tz must be UTC or a zone/],
    ['?step=1', /step/],
  ] as const)
    t.match(await life(platformId, query), { status: 400, body: { message } }, query)
})

t.test('a task without usage awaits it, and says until when', async (t) => {
  const twoHours = { execution_expires_after: 7_200 }
  const answer = await tasks.create({ prompt: 'x [[sandbox usage-missing]]', ...twoHours })
  const id = String(answer.headers.get('x-platform-id'))
  const { data } = await eventually('the provider has made it', async () => {
    const { body } = await life(id)
    return body.data?.state === 'awaiting_usage' && body
  })
  t.match(
    data.receipt.verdict,
    /^Made by the provider, which has not reported its usage: asked until /,
  )
  t.match(data.steps.at(-1), {
    title: 'made, usage not reported',
    by: 'provider',
    state: 'uncertain',
  })
  t.equal(data.steps.at(-1).after.held, data.receipt.held)
  t.match(data, { duration_ms: null, result: null }, 'it has not ended')
  const balances = await call(`${url}/api/query/v1/balance?currency=CNY`, {
    token: demo.queryToken,
  })
  const [{ accounts }] = balances.body.data.items
  t.match(accounts[0], { held: `${data.receipt.held.padEnd(14, '0')}`, held_tasks: 1 })
  const sinceMs = Date.parse(accounts[0].held_since)
  t.ok(Math.abs(sinceMs - Date.parse(data.steps[0].at)) < 60_000, 'since it was requested')
  const untilMs = Date.parse(/asked until (\S+),/.exec(data.receipt.verdict)?.[1] ?? '')
  t.equal(Date.parse(data.deadline_at), untilMs, 'the receipt and the life say the same')
  const leftMs = untilMs - Date.now()
  t.ok(leftMs > 72.9 * 3_600_000 && leftMs <= 73 * 3_600_000, 'it is given up after 73 hours')
  t.ok(data.polls >= 1, 'it was asked for')
  t.ok(Date.parse(data.last_asked_at) > 0)
  await eventually('the gauge', async () => {
    const { text } = await call(`${url}/metrics`)
    const deadline = /tollgate_tasks_awaiting_usage_deadline_seconds\{[^}]*\} ([\d.]+)/.exec(
      text,
    )?.[1]
    if (deadline === undefined) return false
    t.ok(Math.abs(Number(deadline) - leftMs / 1_000) < 120, 'and so does the gauge')
    return /tollgate_open_tasks\{kind="poll",state="awaiting_usage"[^}]*\} [1-9]/.test(text)
  })
})

t.test('a call, and a failed call, whose step began before it ended', async (t) => {
  const done = String((await chat()).headers.get('x-call-id'))
  const { data } = (await life(done)).body
  t.match(data, { kind: 'call', state: 'settled', deadline_at: null })
  t.same(data.result, { what: 'answer', kept_by: null, until: null })
  t.equal(data.duration_ms, Date.parse(data.steps[0].at) - Date.parse(data.steps[0].started_at))
  const keyed = String((await chat({}, demo.modelToken, 'kept-1')).headers.get('x-call-id'))
  const ofKey = (await life(keyed)).body.data
  t.match(ofKey.result, { what: 'answer', kept_by: 'gateway' })
  const keptMs = Date.parse(ofKey.result.until) - Date.parse(ofKey.steps[0].started_at)
  t.equal(keptMs, 86_400_000, 'a day from the request')
  t.match(data.steps, [{ title: 'answered', by: 'provider', types: ['CallSettled'] }])
  t.ok(Date.parse(data.steps[0].started_at) <= Date.parse(data.steps[0].at))
  const messages = [{ role: 'user', content: 'x [[sandbox fail=server_error]]' }]
  const failed = String((await chat({ messages })).headers.get('x-call-id'))
  const seen = await eventually('the failure is in the log', async () => {
    const { body } = await life(failed)
    return body.data
  })
  t.match(seen, {
    state: 'not_billed',
    steps: [{ title: 'failed', state: 'failed', after: { charged: '0', held: '0' } }],
  })
})

t.test('the same request again is related, and the life says what it cost', async (t) => {
  const messages = [{ role: 'user', content: `again ${CANARY}` }]
  const idOf = (answer: Answer) => String(answer.headers.get('x-call-id'))
  const first = idOf(await chat({ messages }))
  const second = idOf(await chat({ messages }))
  const other = idOf(await chat({ messages: [{ role: 'user', content: `another ${CANARY}` }] }))
  const { data } = await eventually('the second is known', async () => {
    const { body } = await life(first)
    return body.data.related.length > 0 && body
  })
  t.match(data.related, [{ id: second, why: 'same_body', retry: null, currency: 'USD' }])
  t.equal(data.related.length, 1, 'another prompt is another request')
  t.ok(data.related[0].after_ms >= 0)
  t.match(data.aside, [
    /^The same request was sent twice, \d+\.\d s apart, without a key: 2 charges\.$/,
  ])
  const { reply } = (await queriesOf(url, demo.queryToken).get(`/lives/${first}/ticket`)).body.data
  const { amount } = data.receipt
  t.match(reply, `You were charged ${amount} USD twice, because the same request was sent twice.`)
  const back = (await life(second)).body.data.related
  t.match(back, [{ id: first, why: 'same_body' }])
  t.ok(back[0].after_ms <= 0)
  const retried = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json', 'x-stainless-retry-count': '2' },
    body: JSON.stringify({
      model: 'text-basic',
      messages: [{ role: 'user', content: `another ${CANARY}` }],
    }),
  })
  await eventually('the retry is known', async () => {
    const { related } = (await life(other)).body.data
    return related.length > 0
  })
  t.match((await life(other)).body.data.related, [{ id: idOf(retried), why: 'retry', retry: 2 }])
})

t.test(
  'what was charged twice is listed with its refund, within the scope of a token',
  async (t) => {
    const messages = [{ role: 'user', content: `charged twice ${CANARY}` }]
    const ids: string[] = []
    for (let n = 0; n < 3; n += 1)
      ids.push(String((await chat({ messages, max_tokens: 9 })).headers.get('x-call-id')))
    const [first, second, third] = ids
    await stack.caughtUp()
    const { receipt } = (await life(String(second))).body.data
    const [{ line_id: lineId, amount }] = receipt.lines
    const line = { lineId, tenantId: demo.tenantId, currency: 'USD', amount } as const
    await postAdjustment(access, {
      tenantId: demo.tenantId,
      adjustmentId: 'back-of-second',
      currency: 'USD',
      amount,
      correction: { kind: 'line', line },
      reason: 'charged twice',
    })
    await stack.caughtUp()
    const ask = (query = '', token = demo.queryToken) =>
      queriesOf(url, token).get(`/repeats${query}`)
    const { data } = (await ask()).body
    const [own] = data.items
    t.match(own, {
      id: third,
      earlier_id: second,
      why: 'same_body',
      retry: null,
      amount: receipt.amount,
      refunded: '0',
      earlier_amount: receipt.amount,
      earlier_refunded: amount,
      model: 'text-basic',
      tenant_id: demo.tenantId,
      user_id: demo.userId,
    })
    t.match(data.items[1], { id: second, earlier_id: first, refunded: amount })
    t.match(
      data.items.find(({ why }: { why: string }) => why === 'retry'),
      { retry: 2, earlier_refunded: '0' },
    )
    const total = data.totals.find(({ why }: { why: string }) => why === 'same_body')
    t.match(total, { currency: 'USD', refunded: amount })
    t.equal(total.requests, data.items.length - 1)
    t.equal(data.next_cursor, null)
    const paged: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const query: string = cursor === '' ? '?limit=1' : `?limit=1&cursor=${cursor}`
      const page = (await ask(query)).body.data
      paged.push(...page.items.map(({ id }: { id: string }) => id))
      cursor = page.next_cursor
    }
    t.same(
      paged,
      data.items.map(({ id }: { id: string }) => id),
      'pages repeat and skip nothing',
    )
    const csv = (await ask('?format=csv')).text.trim().split('\r\n')
    t.equal(csv.length, data.items.length + 1)
    t.match(csv[1], `${third},${second},same_body,`)
    t.same(
      (await ask(`?token_id=${own.token_id}&model=text-basic&user_id=${demo.userId}`)).body.data,
      data,
    )
    for (const none of ['?to=2026-01-02', '?model=image-2', '?time_preset=yesterday'])
      t.same((await ask(none)).body.data.items, [], none)
    t.same((await ask('', other.queryToken)).body.data.items, [], 'of another tenant')
    t.match(await ask(`?tenant_id=${demo.tenantId}`, other.queryToken), { status: 403 })
    t.match(await ask('?from=2020-01-01'), { status: 422 })
    t.match(await ask(`?cursor=${Buffer.from('{}').toString('base64url')}`), { status: 400 })
    const shown = await tollgate(
      ['report', 'repeats', '--tenant', demo.tenantId, '--format', 'json'],
      env,
    )
    t.match(shown.stdout, String(third))
  },
)

t.test('404, byte for byte, for a foreign id and an unknown one', async (t) => {
  const theirs = await chat({}, other.modelToken)
  const callId = String(theirs.headers.get('x-call-id'))
  t.equal((await life(callId, '', other.queryToken)).status, 200, 'theirs to see')
  for (const path of ['', '/ticket']) {
    const read = (id: string) =>
      queriesOf(url, demo.queryToken).get(`/lives/${encodeURIComponent(id)}${path}`)
    const unknown = await read('call_00000000000000000000000000')
    t.match(unknown, { status: 404, body: { success: false, error: { code: 'life_not_found' } } })
    const foreign = [callId, `${callId}:1`, String(theirs.headers.get('x-request-id'))]
    for (const id of [...foreign, `${platformId}:9`, 'a b', '%', '__proto__']) {
      const answer = await read(id)
      t.equal(answer.text, unknown.text, id)
      t.same(steadyHeaders(answer), steadyHeaders(unknown), id)
    }
  }
})

t.test('a ticket and its reply, as JSON and Markdown, without what was asked', async (t) => {
  const { data } = (await life(platformId)).body
  const { body } = await queriesOf(url, demo.queryToken).get(`/lives/${platformId}/ticket`)
  const ticket = body.data
  t.match(ticket, {
    id: platformId,
    object: 'ticket',
    state: 'settled',
    verdict: data.receipt.verdict,
  })
  t.same(ticket.steps, data.steps, 'what the life shows')
  t.match(ticket.commands, [`tollgate replay ${platformId}`, `tollgate receipt ${platformId}`])
  const text = (await queriesOf(url, demo.queryToken).get(`/lives/${platformId}/ticket?format=md`))
    .text
  t.match(text, /^# task /)
  t.match(text, /\| succeeded and settled \|/)
  t.match(text, /charged 5\.0094/)
  t.match(text, /> About /)
  for (const shown of [JSON.stringify(ticket), text, JSON.stringify(data)]) {
    t.notMatch(shown, CANARY)
    t.notMatch(shown, /channel/i, 'no account upstream')
  }
})

t.test('operators see who posted a refund; a refund is a step', async (t) => {
  const args = ['credit', 'adjust', '1.50', '--tenant', demo.tenantId, '--currency', 'CNY']
  const why = ['--line', `${platformId}:1`, '--reason', 'it was broken', '--actor', 'Ada L.']
  const posted = await tollgate([...args, ...why], env)
  t.equal(posted.code, 0, posted.stderr)
  await stack.caughtUp()
  const { data } = (await life(platformId)).body
  const refund = {
    title: 'refunded',
    by: 'operator',
    detail: 'it was broken',
    money: [{ word: 'given back', amount: '1.5' }],
    after: { charged: '5.0094', given_back: '1.5', net: '3.5094' },
  }
  t.match(data.steps.at(-1), refund)
  t.notOk('actor' in data.steps.at(-1))
  const operator = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    kind: 'query',
    name: 'operator',
    scope: { level: 'all_tenants' },
  })
  const seen = (await life(platformId, '', operator.secret)).body.data
  t.match(seen.steps.at(-1), { ...refund, actor: 'Ada L.' })
})

t.test('a command prints the same ticket', async (t) => {
  const run = (...args: readonly string[]) => tollgate(['ticket', ...args], env)
  const shown = await run(platformId, '--tz', 'Asia/Shanghai')
  t.match(shown, { code: 0, stdout: /^# task [\s\S]*\+08:00[\s\S]*succeeded and settled/ })
  const { data } = (await queriesOf(url, demo.queryToken).get(`/lives/${platformId}/ticket`)).body
  const asJson = JSON.parse((await run(platformId, '--json')).stdout)
  t.same(asJson.facts, data.facts)
  t.match((await run(requestId, '--reply')).stdout, /^About /)
  t.match(await run(platformId, '--tenant', other.tenantId), {
    code: 1,
    stderr: /nothing was found/,
  })
  t.match(await run(platformId, '--tz', 'CET'), { code: 2, stderr: /--tz must be UTC or a zone/ })
})
