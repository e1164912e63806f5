import t from 'tap'
import { call, create, query, sandboxFor, TASKS, until, video } from './client.ts'

const NOW = 'queued-ms=0 running-ms=0'

void t.test('fail=CODE: the task ends failed with that code and a stable request id', async (t) => {
  const sandbox = await sandboxFor(t)
  const id = await create(
    sandbox.url,
    `[[sandbox fail=OutputVideoSensitiveContentDetected ${NOW}]]`,
  )
  const one = (await query(sandbox.url, id)).json
  t.equal(one.status, 'failed')
  t.strictSame(Object.keys(one.error), ['code', 'message'])
  t.equal(one.error.code, 'OutputVideoSensitiveContentDetected')
  t.match(one.error.message, /sensitive information\. Request id: 02/)
  t.notOk('usage' in one || 'content' in one)
  t.strictSame((await query(sandbox.url, id)).json, one)
  t.match(sandbox.accepted(), [
    {
      outcome: 'failed',
      fail_code: 'OutputVideoSensitiveContentDetected',
      success: false,
      usage: null,
    },
  ])
})

void t.test('refuse=CODE: the proper status, type and all four members', async (t) => {
  const sandbox = await sandboxFor(t)
  const expected = [
    ['InputTextSensitiveContentDetected.PolicyViolation', 400, 'BadRequest'],
    ['InvalidAccountStatus', 401, 'Unauthorized'],
    ['OperationDenied.ServiceNotOpen', 403, 'Forbidden'],
    ['ModelNotOpen', 404, 'NotFound'],
    ['RateLimitExceeded.EndpointRPMExceeded', 429, 'TooManyRequests'],
    ['QuotaExceeded', 429, 'TooManyRequests'],
    ['InternalServiceError', 500, 'InternalServerError'],
  ] as const
  for (const [code, status, type] of expected) {
    const reply = await call(sandbox.url, 'POST', TASKS, video(`[[sandbox refuse=${code}]]`))
    t.equal(reply.status, status, code)
    t.match(reply.json, { error: { code, type, param: '', message: /Request id: 02/ } })
    t.equal(reply.headers.get('retry-after'), null, 'no Retry-After on this wire')
  }
  t.equal(sandbox.accepted().length, 0)
})

void t.test('http=N and down: refused before a task is accepted', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const status of [429, 500, 502, 503]) {
    const reply = await call(sandbox.url, 'POST', TASKS, video(`[[sandbox http=${status}]]`))
    t.equal(reply.status, status)
    if (status < 502) t.type(reply.json.error.code, 'string')
    else t.match(reply.text, /^<html>/, 'a proxy speaks, not the service')
  }
  t.equal((await call(sandbox.url, 'POST', TASKS, video('[[sandbox down]]'))).status, 503)
  t.equal(sandbox.accepted().length, 0)
})

void t.test('drops and broken answers: the record has the accepted tasks', async (t) => {
  const sandbox = await sandboxFor(t)
  const attempt = (marker: string) =>
    call(sandbox.url, 'POST', TASKS, video(`[[sandbox ${marker}]] [[client=${marker}]]`))
  const taken = (marker: string): number => sandbox.accepted({ client_marker: marker }).length

  await t.rejects(attempt('drop-before-accept'))
  t.equal(taken('drop-before-accept'), 0)
  for (const marker of ['drop-after-accept', 'truncated', 'bad-http']) {
    await t.rejects(attempt(marker), marker)
    t.equal(taken(marker), 1, marker)
  }
  for (const marker of ['malformed', 'garbage']) {
    const reply = await attempt(marker)
    t.equal(reply.status, 200, marker)
    t.equal(reply.json, undefined, 'the body is not JSON')
    t.equal(taken(marker), 1, marker)
  }
  const late = await attempt('http-after-accept=500')
  t.equal(late.status, 500)
  t.equal(taken('http-after-accept=500'), 1)
})

void t.test('hang and hang-after-accept: no answer, and only the second is accepted', async (t) => {
  const sandbox = await sandboxFor(t)
  const leaving = new AbortController()
  const attempt = (marker: string) =>
    fetch(sandbox.url + TASKS, {
      method: 'POST',
      headers: { authorization: 'Bearer k' },
      body: JSON.stringify(video(`[[sandbox ${marker}]] [[client=${marker}]]`)),
      signal: leaving.signal,
    })
  const attempts = [attempt('hang'), attempt('hang-after-accept')].map((answer) =>
    t.rejects(answer, { name: 'AbortError' }),
  )
  await until(
    () => sandbox.requests().routes['video-a.create']?.max_in_flight,
    (count) => count === 2,
  )
  await until(
    () => sandbox.accepted().length,
    (count) => count === 1,
  )
  leaving.abort()
  await Promise.all(attempts)
  t.equal(sandbox.accepted({ client_marker: 'hang' }).length, 0)
  t.equal(sandbox.accepted({ client_marker: 'hang-after-accept' }).length, 1)
})

void t.test('first-byte-ms: accepted at once, answered late', async (t) => {
  const sandbox = await sandboxFor(t)
  const begun = Date.now()
  let isAnswered = false
  const answer = create(sandbox.url, '[[sandbox first-byte-ms=2000]]').finally(() => {
    isAnswered = true
  })
  await until(
    () => sandbox.accepted().length,
    (count) => count === 1,
  )
  t.notOk(isAnswered)
  t.match(await answer, /^cgt-/)
  t.ok(Date.now() - begun >= 1_990)
})

void t.test('stall, stall-queued, expire, status: a task that does not succeed', async (t) => {
  const sandbox = await sandboxFor(t)
  const statusOf = async (id: string) => (await query(sandbox.url, id)).json.status
  const stalled = await create(sandbox.url, '[[sandbox stall queued-ms=0]]')
  const queued = await create(sandbox.url, '[[sandbox stall-queued]]')
  const expired = await create(sandbox.url, `[[sandbox expire ${NOW}]]`)
  const strange = await create(
    sandbox.url,
    '[[sandbox status=reticulating queued-ms=0 running-ms=7200000]]',
  )
  t.equal(await statusOf(expired), 'expired')
  t.equal(await statusOf(strange), 'reticulating')
  t.match(
    (await call(sandbox.url, 'GET', `${TASKS}?filter.task_ids=${strange}`)).json.items[0].status,
    'reticulating',
  )
  sandbox.advance(3_600_000)
  t.equal(await statusOf(strange), 'running')
  sandbox.advance(5 * 86_400_000)
  t.equal(await statusOf(strange), 'succeeded')
  t.equal(await statusOf(stalled), 'running')
  t.equal(await statusOf(queued), 'queued')
  t.match(sandbox.accepted({ family: 'video-a' })[0], { outcome: 'never', success: false })
})

void t.test('usage-missing, usage-changes, gone: successes that are hard to settle', async (t) => {
  const sandbox = await sandboxFor(t)
  const missing = await create(sandbox.url, `[[sandbox usage-missing ${NOW}]]`)
  const without = (await query(sandbox.url, missing)).json
  t.equal(without.status, 'succeeded')
  t.notOk('usage' in without)

  const changing = await create(sandbox.url, `[[sandbox usage-changes ${NOW}]]`)
  t.equal((await query(sandbox.url, changing)).json.usage.total_tokens, 108_900)
  t.equal((await query(sandbox.url, changing)).json.usage.total_tokens, 109_900)

  const gone = await create(sandbox.url, `[[sandbox gone ${NOW}]]`)
  t.equal((await query(sandbox.url, gone)).status, 404)
  const goneLater = await create(sandbox.url, `[[sandbox gone-ms=60000 ${NOW}]]`)
  t.equal((await query(sandbox.url, goneLater)).json.status, 'succeeded')
  sandbox.advance(60_000)
  t.equal((await query(sandbox.url, goneLater)).status, 404)
  t.match(sandbox.accepted(), [
    { id: missing, success: true, usage: null },
    { usage: { total_tokens: 108_900 }, usage_later: { total_tokens: 109_900 } },
    { id: gone, success: true, gone: true, success_reported: false },
    { id: goneLater, success: true, gone: true, success_reported: true, queried: 1 },
  ])
})

void t.test('an unknown marker is refused, so that no test runs without its fault', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const marker of ['fial=X', 'stall=1', 'tokens', 'tokens=many', 'http=-1']) {
    const reply = await call(sandbox.url, 'POST', TASKS, video(`[[sandbox ${marker}]]`))
    t.equal(reply.status, 400, marker)
    t.equal(reply.json.error.code, 'InvalidParameter.SandboxMarker')
  }
  t.equal(sandbox.accepted().length, 0)
})
