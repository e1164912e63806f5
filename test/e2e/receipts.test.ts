import t, { type Test } from 'tap'
import { addUser, issueToken } from '../../src/app/accounts/account-commands.ts'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call, queriesOf, steadyHeaders, tasksOf } from './support/client.ts'

const stack = await sharedStack(t)
const { url, demo, other, access } = stack
const tasks = tasksOf(url, demo.modelToken)
const finance = queriesOf(url, demo.queryToken)
const receipt = (id: string, token = demo.queryToken): Promise<Answer> =>
  queriesOf(url, token).get(`/receipts/${encodeURIComponent(id)}`)
const env = environmentOf(stack)
const run = (...args: readonly string[]) => tollgate(args, env)

function chat(content: string, rest: object = {}, token = demo.modelToken): Promise<Answer> {
  const body = { model: 'text-basic', messages: [{ role: 'user', content }], ...rest }
  return call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

const created = await tasks.create()
const nativeId = String(created.body.id)
const platformId = String(created.headers.get('x-platform-id'))
const requestId = String(created.headers.get('x-request-id'))
await tasks.reaches(nativeId, 'succeeded')

/** Each line by hand: quantity × price ÷ per, in integers. */
function worksOut(t: Test, lines: readonly Record<string, string & number>[]) {
  for (const { quantity, price, per, amount, formula } of lines) {
    t.equal(formula, `${quantity} × ${price} ÷ ${per} = ${amount}`)
    const scaled = (text: string) => {
      const [whole = '0', fraction = ''] = text.split('.')
      return BigInt(whole + fraction.padEnd(12, '0'))
    }
    t.equal(
      BigInt(Number(quantity)) * scaled(String(price)),
      scaled(String(amount)) * BigInt(per ?? 1),
    )
  }
}

void t.test('the receipt of a settled task has verdict, exact lines and their hash', async (t) => {
  const { status, body } = await receipt(platformId)
  t.equal(status, 200)
  await stack.caughtUp()
  const [line] = (await finance.lines(`source_id=${platformId}`)).body.data.items
  const { rows } = await stack.gateway.pool.query<{ hash: string }>(
    `select encode(hash, 'hex') as hash from ledger.lines where line_id = $1`,
    [line.line_id],
  )
  t.match(body.data, {
    id: platformId,
    object: 'receipt',
    kind: 'task',
    state: 'settled',
    verdict: 'Settled once: 5.0094 CNY in 1 line, all of it as reported.',
    native_id: nativeId,
    request_id: requestId,
    tenant_id: demo.tenantId,
    currency: 'CNY',
    amount: '5.0094',
    adjusted: '0',
    net: '5.0094',
    held: '0',
    price_book_version: line.price_book_version,
    measurement: 'reported',
    corrections: [],
  })
  t.match(body.data.lines, [{ line_id: line.line_id, sku: line.sku, hash: rows[0]?.hash }])
  t.match(body.data.lines[0].formula, '108900 × 46 ÷ 1000000 = 5.0094')
  worksOut(t, body.data.lines)
  const types = body.data.timeline.map(({ type }: { readonly type: string }) => type)
  t.same([types[0], types.at(-1)], ['TaskRequested', 'TaskSettled'])
  for (const { at } of body.data.timeline) t.ok(Date.parse(at) > 0)
})

void t.test('one receipt by native id, request id and ledger line', async (t) => {
  const one = (await receipt(platformId)).body
  for (const id of [nativeId, requestId, `${platformId}:1`])
    t.same((await receipt(id)).body, one, id)
})

void t.test('the receipt of a call exists as soon as it is answered', async (t) => {
  const answer = await chat('Hello [[sandbox cached-tokens=1]]')
  const callId = String(answer.headers.get('x-call-id'))
  const { status, body } = await receipt(callId)
  t.equal(status, 200)
  t.match(body.data, { kind: 'call', state: 'settled', surface: 'v1.chat', native_id: null })
  t.equal(body.data.amount, answer.headers.get('x-cost'))
  t.ok(body.data.lines.length >= 2)
  worksOut(t, body.data.lines)
  t.equal((await receipt(String(answer.headers.get('x-request-id')))).body.data.id, callId)
})

void t.test('an estimated call is marked as estimated, line by line', async (t) => {
  const answer = await chat('Hello [[sandbox no-usage]]')
  const { data } = (await receipt(String(answer.headers.get('x-call-id')))).body
  t.match(data, { state: 'settled', measurement: 'estimated', verdict: /, all of it estimated\.$/ })
  for (const { measurement } of data.lines) t.equal(measurement, 'estimated')
})

void t.test('a free call has a receipt without lines', async (t) => {
  const answer = await chat('Hello [[sandbox zero-usage]]')
  const { data } = (await receipt(String(answer.headers.get('x-call-id')))).body
  t.match(data, {
    state: 'settled',
    verdict: 'Settled once: 0 USD, because nothing was counted.',
    amount: '0',
    lines: [],
    measurement: null,
  })
})

void t.test('a failed task was not billed, and its receipt has the reason', async (t) => {
  const task = await tasks.created({ prompt: 'x [[sandbox fail=InternalError]]' })
  await tasks.reaches(task, 'failed')
  t.match((await receipt(task)).body.data, {
    state: 'not_billed',
    verdict: /^Not billed: the task failed \([\w.]+\)\.$/,
    amount: '0',
    net: '0',
    held: '0',
    currency: 'CNY',
    lines: [],
  })
  const answer = await chat('Hello [[sandbox fail=server_error]]')
  const callId = String(answer.headers.get('x-call-id'))
  // The failure of a call, which costs its caller nothing, is written after the answer.
  const ofCall = await eventually('the failure is in the log', async () => {
    const { status, body } = await receipt(callId)
    return status === 200 ? body.data : undefined
  })
  t.match(ofCall, {
    kind: 'call',
    state: 'not_billed',
    verdict: /^Not billed: the call failed \([\w.]+\)\.$/,
    currency: null,
    price_book_version: null,
  })
  const refused = await tasks.create({ prompt: 'x [[sandbox refuse=InvalidParameter]]' })
  t.match((await receipt(String(refused.headers.get('x-platform-id')))).body.data, {
    state: 'not_billed',
    verdict: /^Not billed: the task was refused before it began/,
  })
})

void t.test('the receipt of a running task states its hold', async (t) => {
  const answer = await tasks.create({ prompt: 'x [[sandbox stall]]' })
  const id = String(answer.headers.get('x-platform-id'))
  const { data } = (await receipt(id)).body
  await stack.caughtUp()
  const { rows } = await stack.gateway.pool.query<{ amount: string }>(
    'select trim_scale(amount)::text as amount from ledger.holds where source_id = $1',
    [id],
  )
  const held = rows[0]?.amount
  t.match(data, {
    state: 'running',
    held,
    verdict: `Still running: ${held} CNY is held until it ends.`,
    amount: '0',
  })
})

void t.test('the receipt of an uncertain task states the uncertainty', async (t) => {
  const text = 'Good morning. [[sandbox drop-after-accept]]'
  const lost = await call(`${url}/provB/v1/t2a_async_v2`, {
    method: 'POST',
    token: demo.modelToken,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'speech-2.8-hd', voice_id: 'male-qn-qingse', text }),
  })
  t.match((await receipt(String(lost.headers.get('x-platform-id')))).body.data, {
    state: 'unknown',
    verdict:
      /^It is not known yet whether the model service took the task; 0\.\d+ USD is held until then\.$/,
    held: /^0\.\d+$/,
  })
})

void t.test('a correction is on the receipt; its actor is for operators', async (t) => {
  const beforeRefund = String((await receipt(platformId)).body.data.as_of)
  const ofLine = ['--tenant', demo.tenantId, '--currency', 'CNY', '--line', `${platformId}:1`]
  const posted = await run(
    'credit',
    'adjust',
    '1.50',
    ...ofLine,
    '--reason',
    'it was broken',
    '--actor',
    'Ada L.',
  )
  t.equal(posted.code, 0, posted.stderr)
  // The receipt waits for the refund by itself.
  const { data } = (await receipt(platformId)).body
  t.match(data, {
    amount: '5.0094',
    adjusted: '1.5',
    net: '3.5094',
    verdict:
      'Settled once: 5.0094 CNY in 1 line, all of it as reported. 1.5 CNY of it was refunded: 3.5094 CNY remains.',
  })
  t.match(data.corrections, [
    { line_id: `${platformId}:1`, amount: '1.5', reason: 'it was broken' },
  ])
  t.notOk('actor' in data.corrections[0])
  const asOf = async (position: string) =>
    (await finance.get(`/receipts/${platformId}?as_of=${position}`)).body
  t.same((await asOf(data.as_of)).data, data, 'as of its position the same again')
  const before = await asOf(beforeRefund)
  t.match(before.data, { as_of: beforeRefund, amount: '5.0094', adjusted: '0', net: '5.0094' })
  t.same(before.data.corrections, [])
  const [began] = data.timeline
  t.match((await asOf(began.position)).data, { state: 'running', net: '0', lines: [] })
  t.match(await asOf('0'), { error: { code: 'receipt_not_found' } })
  t.match(await asOf('999999999999999999'), { error: { code: 'invalid_request', param: 'as_of' } })
  const operator = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: demo.userId,
    kind: 'query',
    name: 'operator',
    scope: { level: 'all_tenants' },
  })
  const seen = (await receipt(platformId, operator.secret)).body.data
  t.equal(seen.corrections[0].actor, 'Ada L.')
})

void t.test('404, byte for byte, for a foreign id and an unknown one', async (t) => {
  const theirs = await chat('Hello', {}, other.modelToken)
  const callId = String(theirs.headers.get('x-call-id'))
  t.equal((await receipt(callId, other.queryToken)).status, 200, 'theirs to see')
  const unknown = await receipt('call_00000000000000000000000000')
  t.equal(unknown.status, 404)
  t.match(unknown.body, { success: false, error: { code: 'receipt_not_found' } })
  const foreign = [callId, `${callId}:1`, String(theirs.headers.get('x-request-id'))]
  const never = [`${platformId}:2`, `${nativeId}:1`, 'x', 'a b', '%', `${platformId}:0`]
  for (const id of [...foreign, ...never]) {
    const answer = await receipt(id)
    t.equal(answer.text, unknown.text, id)
    t.same(steadyHeaders(answer), steadyHeaders(unknown), id)
  }
  await addUser(access, { tenantId: demo.tenantId, userId: 'user_second', name: 'Second' })
  const second = await issueToken(access, {
    tenantId: demo.tenantId,
    userId: 'user_second',
    kind: 'query',
    name: 'own',
    scope: { level: 'current_user' },
  })
  t.equal((await receipt(platformId, second.secret)).text, unknown.text, 'of another user')
})

void t.test('a request that began neither task nor call has no receipt', async (t) => {
  const gone = await tasks.created()
  await tasks.reaches(gone, 'succeeded')
  const deleted = await tasks.del(gone)
  t.equal(deleted.status, 200)
  const asked = String(deleted.headers.get('x-request-id'))
  await eventually('the deletion', async () => (await finance.history(asked)).status === 200)
  t.equal((await receipt(asked)).status, 404)
  t.match((await receipt(gone)).body.data.state, 'settled', 'and what is hidden keeps its own')
})

void t.test('401 and 403 for other tokens, 400 for unknown parameters', async (t) => {
  t.equal((await receipt(platformId, 'qak-nobody')).status, 401)
  t.equal((await receipt(platformId, demo.modelToken)).status, 403)
  t.equal((await finance.get(`/receipts/${platformId}?format=csv`)).status, 400)
})

void t.test('the command line prints the receipt of the API', async (t) => {
  const { code, stdout } = await run('receipt', `${platformId}:1`)
  t.equal(code, 0)
  t.match(stdout, /^Settled once: 5\.0094 CNY in 1 line/)
  t.match(stdout, /1 +domestic-video-2-0-720p-novideo +108900 × 46 ÷ 1000000 = 5\.0094/)
  t.match(stdout, /adjustment_\w+ +1 +1\.5 .*Ada L\. +it was broken/)
  t.match(stdout, /TaskRequested[\s\S]*TaskSettled/)
  const local = await run('receipt', platformId, '--tz', 'Asia/Kolkata')
  t.match(local.stdout, /TIME \(LOCAL\) +STEP\n\S+\+05:30 +TaskRequested/)
  t.match(await run('receipt', platformId, '--tz', 'IST'), {
    code: 2,
    stderr: /did you mean `Asia\/Kolkata`/,
  })
  const early = String(
    JSON.parse((await run('receipt', nativeId, '--json')).stdout).timeline[0].position,
  )
  t.match((await run('receipt', platformId, '--as-of', early)).stdout, /^Still running/)
  for (const position of ['x', '999999999999999999'])
    t.match(await run('receipt', platformId, '--as-of', position), { code: 2, stderr: /--as-of/ })
  const json = await run('receipt', nativeId, '--json')
  t.match(JSON.parse(json.stdout), { sourceId: platformId, amount: '5.0094', net: '3.5094' })
  t.equal((await run('receipt', platformId, '--tenant', demo.tenantId)).code, 0)
  const foreign = await run('receipt', platformId, '--tenant', other.tenantId)
  const unknown = await run('receipt', 'call_nothing')
  t.match([foreign.code, unknown.code], [1, 1])
  t.match(foreign.stderr, new RegExp(`nothing was found for ${platformId}`))
})
