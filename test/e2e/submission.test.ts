import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { queriesOf, tasksOf } from './support/client.ts'

const stack = await startStack({
  channels: (channels) => channels.map((channel) => ({ ...channel, timeoutMs: 1_000 })),
})
t.teardown(() => stack.stop())
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const foreign = tasksOf(stack.url, stack.other.modelToken)
const finance = queriesOf(stack.url, stack.demo.queryToken)

const acceptedWith = (marker: string) => stack.sandbox.accepted({ client_marker: marker })

t.test('an Idempotency-Key and body repeated return the task, sent once', async (t) => {
  const headers = { 'idempotency-key': 'order 1' }
  const body = { prompt: 'x [[client=once]]' }
  const first = await tasks.create(body, headers)
  const again = await tasks.create(body, headers)
  t.equal(first.status, 200)
  t.same(again.body, first.body)
  t.equal(again.headers.get('x-platform-id'), first.headers.get('x-platform-id'))
  t.equal(first.headers.get('idempotent-replayed'), null)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal(acceptedWith('once').length, 1)
  await tasks.reaches(first.body.id, 'succeeded')
  t.same((await tasks.create(body, headers)).body, first.body, 'also after its end')
})

t.test('twenty requests under one key at once make one task', async (t) => {
  const headers = { 'idempotency-key': 'burst' }
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => tasks.create({ prompt: 'x [[client=burst]]' }, headers)),
  )
  t.equal(acceptedWith('burst').length, 1)
  t.ok(answers.some(({ status }) => status === 200))
  for (const { status, body, headers: sent } of answers) {
    t.ok(status === 200 || status === 409, String(status))
    if (status === 409) {
      t.equal(body.error.code, 'idempotency_in_progress')
      t.ok(sent.get('retry-after'))
    }
  }
  t.equal(new Set(answers.map(({ headers: sent }) => sent.get('x-platform-id'))).size, 1)
})

t.test('another body under a used key is 409, another tenant’s key is independent', async (t) => {
  const headers = { 'idempotency-key': 'shared words' }
  const first = await tasks.create({}, headers)
  const other = await tasks.create({ duration: 6 }, headers)
  t.equal(other.status, 409)
  t.match(other.body.error, { code: 'idempotency_key_reused', type: 'Conflict' })
  t.equal(other.headers.get('x-should-retry'), 'false')
  const theirs = await foreign.create({}, headers)
  t.equal(theirs.status, 200)
  t.not(theirs.body.id, first.body.id)
})

t.test('a refused attempt frees its key; an invalid key is refused', async (t) => {
  const headers = { 'idempotency-key': 'second try' }
  stack.sandbox.faults.add({
    faults: ['refuse=InvalidParameter'],
    once: 1,
    match: { op: 'create' },
  })
  const refused = await tasks.create({}, headers)
  t.equal(refused.status, 400)
  t.equal((await tasks.create({}, headers)).status, 200)
  const odd = await tasks.create({}, { 'idempotency-key': 'x'.repeat(256) })
  t.equal(odd.status, 400)
  t.match(odd.body.error, { code: 'invalid_request', param: 'Idempotency-Key' })
})

t.test('a repetition under a key after a lost answer gets the state of its task', async (t) => {
  const headers = { 'idempotency-key': 'lost' }
  const body = { prompt: 'x [[client=lost]] [[sandbox drop-after-accept]]' }
  const lost = await tasks.create(body, headers)
  t.equal(lost.status, 502)
  const found = await eventually('adopted', async () => {
    const answer = await tasks.create(body, headers)
    return answer.status === 200 ? answer : undefined
  })
  t.equal(found.headers.get('x-platform-id'), lost.headers.get('x-platform-id'))
  t.equal(acceptedWith('lost').length, 1)
  t.equal(found.body.id, acceptedWith('lost')[0]?.id)
})

t.test('a creation with a lost answer is 502, then found, adopted and settled once', async (t) => {
  const faults = ['drop-after-accept', 'hang-after-accept', 'truncated', 'http-after-accept=500']
  const models = ['domestic-video-2-0', 'overseas-video-2-0']
  const lost = await Promise.all(
    faults.map(async (fault, index) => {
      const marker = fault.replace('=', '-')
      const prompt = `x [[client=${marker}]] [[sandbox ${fault}]]`
      return { marker, answer: await tasks.create({ model: models[index % 2], prompt }) }
    }),
  )
  for (const { marker, answer } of lost) {
    t.equal(answer.status, 502, marker)
    t.match(answer.body.error, { code: 'service_error', type: 'BadGateway' })
    t.equal(answer.headers.get('x-should-retry'), 'false')
    const platformId = answer.headers.get('x-platform-id') ?? ''
    t.match(platformId, /^video_/)
    t.equal((await tasks.get(platformId)).body.status, 'queued')
  }
  for (const { marker, answer } of lost) {
    const platformId = answer.headers.get('x-platform-id') ?? ''
    const done = await tasks.reaches(platformId, 'succeeded')
    const [accepted, ...more] = acceptedWith(marker)
    t.same(more, [], 'it was never sent again')
    t.equal(done.body.id, accepted?.id, 'the native id is known by now')
    t.notOk(Object.hasOwn(done.body, 'safety_identifier'), 'our own marker is not echoed')
    await stack.caughtUp()
    t.equal((await finance.lines(`source_id=${platformId}`)).body.data.items.length, 1)
    const history = await finance.history(platformId)
    const types = history.body.data.items.map((item: { type: string }) => item.type)
    t.same(types.slice(0, 3), ['TaskRequested', 'TaskSubmissionUncertain', 'TaskSubmitted'])
    t.notMatch(history.text, /"marker"/, 'nor shown')
  }
})

t.test('a creation that certainly did not reach upstream is refused, not uncertain', async (t) => {
  const down = await tasks.create({ prompt: 'x [[sandbox refuse=AccountOverdueError]]' })
  t.equal(down.status, 503)
  const id = down.headers.get('x-platform-id') ?? ''
  await stack.caughtUp()
  const history = await finance.history(id)
  t.equal(history.body.data.items.at(-1).type, 'TaskSubmissionRefused')
})
