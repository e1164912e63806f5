import { randomUUID } from 'node:crypto'
import t from 'tap'
import { environmentOf, tollgate } from '../cli/support/commands.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

/** Credit under an id or an `Idempotency-Key`: however often it is asked for, it moves once. */

const stack = await startStack({ env: { RATE_LIMIT_RPM: '6000' } })
t.teardown(() => stack.stop())
const { demo, url } = stack
const replica = await stack.replica(['api'])
const env = environmentOf(stack)

const ask = (
  method: string,
  path: string,
  body: object | undefined,
  headers: Readonly<Record<string, string>> = {},
  base = url,
): Promise<Answer> =>
  call(`${base}/api/admin${path}`, {
    method,
    token: demo.adminToken,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

let tenants = 0
/** A tenant with nothing. */
const opened = async (): Promise<string> => {
  tenants += 1
  const tenantId = `tenant_retry_${tenants}`
  t.equal((await ask('POST', '/tenants', { name: 'Retry', tenant_id: tenantId })).status, 200)
  return tenantId
}
const granted = async (tenantId: string): Promise<string> => {
  await stack.caughtUp()
  const { body } = await ask('GET', `/tenants/${tenantId}/credit`, undefined)
  return body.data.accounts[0]?.granted ?? '0'
}
const limited = async (tenantId: string): Promise<string> => {
  await stack.caughtUp()
  const { body } = await ask('GET', `/tenants/${tenantId}/credit`, undefined)
  return body.data.accounts[0]?.credit_limit ?? '0'
}
const hundred = { currency: 'USD', amount: '100', reason: 'invoice 17' }
const keyed = (key: string) => ({ 'idempotency-key': key })

void t.test('400 names the header and the member when both are missing', async (t) => {
  const tenantId = await opened()
  for (const [method, path, body, member] of [
    ['POST', 'grants', hundred, 'grant_id'],
    ['PUT', 'limit', { currency: 'USD', amount: '5' }, 'limit_id'],
  ] as const) {
    const answer = await ask(method, `/tenants/${tenantId}/credit/${path}`, body)
    t.equal(answer.status, 400, answer.text)
    t.match(answer.body, { success: false, error: { code: 'invalid_request', param: member } })
    t.match(answer.body.message, new RegExp(`Idempotency-Key.*${member}`))
  }
  t.equal(await granted(tenantId), '0')
  for (const key of ['', 'x'.repeat(256), 'é'])
    t.match(
      await ask('POST', `/tenants/${tenantId}/credit/grants`, hundred, keyed(key)),
      { status: 400, body: { error: { param: /^idempotency-key$/i } } },
      key,
    )
})

void t.test('one key grants once, on every replica and at once', async (t) => {
  const tenantId = await opened()
  const path = `/tenants/${tenantId}/credit/grants`
  const key = randomUUID()
  const answers = await Promise.all(
    [url, replica.url, url, replica.url].map((base) =>
      ask('POST', path, hundred, keyed(key), base),
    ),
  )
  for (const { status, text } of answers) t.equal(status, 200, text)
  t.equal(answers.filter(({ body }) => body.data.changed === true).length, 1)
  const ids = new Set(answers.map(({ body }) => body.data.id))
  t.equal(ids.size, 1, 'the id follows from the key')
  const again = await ask('POST', path, { ...hundred, amount: '100.00' }, keyed(key))
  t.match(again, { status: 200, body: { data: { changed: false } } })
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(await granted(tenantId), '100.000000000000')

  const elsewhere = await opened()
  const other = await ask('POST', `/tenants/${elsewhere}/credit/grants`, hundred, keyed(key))
  t.match(other.body.data, { changed: true }, 'a key belongs to its tenant')
  t.not(other.body.data.id, [...ids][0])
})

void t.test('409 idempotency_key_reused for one key with another body', async (t) => {
  const tenantId = await opened()
  const path = `/tenants/${tenantId}/credit/grants`
  t.equal((await ask('POST', path, hundred, keyed('k'))).status, 200)
  for (const other of [
    { amount: '101' },
    { currency: 'CNY' },
    { reason: 'invoice 18' },
    { credit: 'promotional' },
    { reference: 'INV-77' },
    { grant_id: 'another' },
  ]) {
    const answer = await ask('POST', path, { ...hundred, ...other }, keyed('k'))
    t.equal(answer.status, 409, answer.text)
    t.equal(answer.body.error.code, 'idempotency_key_reused')
    t.equal(answer.headers.get('x-should-retry'), 'false')
  }
  const both = { ...hundred, grant_id: 'chosen' }
  t.match(await ask('POST', path, both, keyed('k2')), { status: 200 })
  t.match((await ask('POST', path, both, keyed('k2'))).body.data, { id: 'chosen', changed: false })
  t.match((await ask('POST', path, both)).body.data, { id: 'chosen', changed: false })
  t.match(await ask('POST', path, { ...both, grant_id: 'third' }, keyed('k2')), {
    status: 409,
    body: { error: { code: 'idempotency_key_reused' } },
  })
  t.equal(await granted(tenantId), '200.000000000000')
})

void t.test('a repeated credit limit does not undo later changes', async (t) => {
  const tenantId = await opened()
  const path = `/tenants/${tenantId}/credit/limit`
  const set = (amount: string, headers: Record<string, string>, more: object = {}) =>
    ask('PUT', path, { currency: 'USD', amount, ...more }, headers)
  t.match((await set('500', keyed('raise'))).body.data, { changed: true, amount: '500' })
  t.match((await set('0', {}, { limit_id: 'lower' })).body.data, { id: 'lower', changed: true })
  const late = await set('500', keyed('raise'))
  t.match(late.body.data, { changed: false }, 'the request whose answer was lost')
  t.equal(late.headers.get('idempotent-replayed'), 'true')
  t.equal(await limited(tenantId), '0.000000000000')
  t.match(await set('600', keyed('raise')), {
    status: 409,
    body: { error: { code: 'idempotency_key_reused' } },
  })
  t.match(await set('600', {}, { limit_id: 'lower' }), {
    status: 409,
    body: { error: { code: 'limit_exists', param: 'limit_id' } },
  })
  t.match((await set('500', keyed('raise again'))).body.data, { changed: true })
  t.equal(await limited(tenantId), '500.000000000000')
})

void t.test('the command prints the id before it sends the request', async (t) => {
  const tenantId = await opened()
  const who = ['--tenant', tenantId, '--currency', 'USD']
  const run = (...args: readonly string[]) => tollgate(['credit', ...args, ...who], env)
  const grant = await run('grant', '7')
  const [, id = ''] = /--id (grant_\w+)/.exec(grant.stderr) ?? []
  t.match(grant.stdout, new RegExp(`^grantId: ${id}$`, 'm'))
  t.equal((await run('grant', '7', '--id', id)).code, 0, 'after a lost answer')
  t.equal(await granted(tenantId), '7.000000000000')
  const limit = await run('limit', '5')
  const [, limitId = ''] = /--id (limit_\w+)/.exec(limit.stderr) ?? []
  t.equal((await run('limit', '0')).code, 0)
  t.equal((await run('limit', '5', '--id', limitId)).code, 0)
  t.equal(await limited(tenantId), '0.000000000000', 'that had come before')
  const adjusted = await run('adjust', '-2', '--grant', id, '--reason', 'too much')
  t.match(adjusted.stderr, /--id adjustment_[0-9a-f]{32}/)
  t.match(adjusted.stdout, /^adjustmentId: adjustment_[0-9a-f]{32}$/m)
  const refused = await run('grant', '1', '--id', 'a b')
  t.match(refused, { code: 2, stderr: /--id/ })
})

void t.test('503 outcome_unknown names the id to send again', async (t) => {
  const tenantId = await opened()
  const path = `/tenants/${tenantId}/credit/grants`
  await stack.eventStore.setFault('lose-ack-every:1')
  t.teardown(() => stack.eventStore.setFault(''))
  const [lost, limit, command] = await Promise.all([
    ask('POST', path, hundred, keyed('lost')),
    ask('PUT', `/tenants/${demo.tenantId}/credit/limit`, {
      currency: 'USD',
      amount: '1',
      limit_id: 'mine',
    }),
    tollgate(['credit', 'grant', '3', '--tenant', stack.other.tenantId, '--currency', 'USD'], env),
  ])
  t.equal(lost.status, 503, lost.text)
  t.match(lost.body.error, { code: 'outcome_unknown', param: 'grant_id' })
  const [, id = ''] = /(grant_[0-9a-f]{32})/.exec(lost.body.message) ?? []
  t.ok(id, lost.body.message)
  t.match(lost.headers.get('retry-after'), /^\d+$/)
  t.match(limit.body, { message: /mine/, error: { code: 'outcome_unknown', param: 'limit_id' } })
  const [, said = ''] = /--id (grant_\w+)/.exec(command.stderr) ?? []
  t.match(command, { code: 1, stderr: new RegExp(`may have recorded.*${said}`) })
  await stack.eventStore.setFault('')
  await eventually('the log is well again', async () =>
    (await call(`${url}/readyz`)).status === 200 ? true : undefined,
  )
  const sent = await Promise.all([
    ask('POST', path, { ...hundred, grant_id: id }),
    ask('POST', path, hundred, keyed('lost')),
  ])
  for (const { status, body, text } of sent) {
    t.equal(status, 200, text)
    t.equal(body.data.id, id)
  }
  t.equal(await granted(tenantId), '100.000000000000', 'however it is sent again')
})
