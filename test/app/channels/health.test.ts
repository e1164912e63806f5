import * as fc from 'fast-check'
import t from 'tap'
import { defaultBreakerSettings } from '../../../src/app/channels/breaker.ts'
import { ChannelHealth, type ChannelOutcome } from '../../../src/app/channels/health.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { sharerIn } from './support/sharer.ts'

const settings = defaultBreakerSettings

/** `tenant/user`, or the only user of a tenant. */
function sharerOfName(name: string) {
  const [tenantId = '', userId] = name.split('/')
  return sharerIn(tenantId, userId)
}

function setUp() {
  let nowMs = 0
  const health = new ChannelHealth(settings, nowMs)
  /** Whether a call was let through; it ends at once. */
  const call = (name: string, outcome: ChannelOutcome): boolean => {
    const sharer = sharerOfName(name)
    if (!health.mayCall(sharer, nowMs)) return false
    health.onCall(sharer, nowMs)
    health.onOutcome(sharer, outcome, nowMs)
    return true
  }
  return {
    health,
    call,
    pass: (ms: number) => (nowMs += ms),
    kind: () => health.kind(nowMs),
    mayCall: (name: string) => health.mayCall(sharerOfName(name), nowMs),
    begin: (name: string) => health.onCall(sharerOfName(name), nowMs),
  }
}

t.test('failures of one tenant close the channel to that tenant only', async (t) => {
  const { call, health, mayCall, pass, kind } = setUp()
  for (let times = 0; times < 20; times += 1) call('attacker', 'failure')
  t.equal(mayCall('attacker'), false)
  t.equal(health.shutUsers(), 1)
  let refused = 0
  for (let second = 0; second < 60; second += 1) {
    call('attacker', 'failure')
    call('attacker', 'failure')
    if (!call('other', second % 7 === 0 ? 'failure' : 'success')) refused += 1
    pass(1_000)
  }
  t.equal(refused, 0, 'another tenant is never refused, even if some of its own calls fail')
  t.equal(kind(), 'closed')
})

t.test('failures of one user close the channel to no other user of its tenant', async (t) => {
  const { call, health, mayCall, pass, kind } = setUp()
  for (let times = 0; times < 20; times += 1) call('tenant/careless', 'failure')
  t.equal(mayCall('tenant/careless'), false)
  t.ok(mayCall('tenant/other'))
  let refused = 0
  for (let second = 0; second < 60; second += 1) {
    call('tenant/careless', 'failure')
    if (!call('tenant/other', second % 7 === 0 ? 'failure' : 'success')) refused += 1
    pass(1_000)
  }
  t.equal(refused, 0, 'even if some of its own calls fail')
  t.equal(health.shutUsers(), 1)
  t.equal(kind(), 'closed')
})

t.test('a channel that fails several users of a tenant admits one probe for each', async (t) => {
  const { call, kind, mayCall, begin } = setUp()
  for (let times = 0; times < 3; times += 1) call('tenant/first', 'failure')
  call('tenant/second', 'failure')
  begin('tenant/third')
  t.ok(mayCall('tenant/third'), 'four failures are too few')
  call('tenant/third', 'failure')
  t.equal(kind(), 'open')
  for (const user of ['tenant/first', 'tenant/fourth']) {
    t.ok(mayCall(user), `${user} has a probe`)
    begin(user)
    t.notOk(mayCall(user), `${user} has one probe`)
  }
  begin('other/user')
  t.ok(mayCall('other/user'), 'the users of another tenant are not probed')
  for (let times = 0; times < settings.probesToClose; times += 1) call('tenant/fifth', 'success')
  begin('tenant/sixth')
  t.ok(mayCall('tenant/sixth'), 'probes of one user free the others')
})

t.test('failures of many users of one tenant close the channel to no other tenant', async (t) => {
  const { call, mayCall, begin, pass } = setUp()
  for (let user = 0; user < 100; user += 1) {
    for (let times = 0; times < 6; times += 1) call(`tenant/user_${user}`, 'failure')
    begin('other')
    t.ok(mayCall('other'))
    pass(100)
  }
})

t.test('a tenant most of whose calls succeed is not suspected', async (t) => {
  const { call, mayCall, begin } = setUp()
  for (let times = 0; times < 40; times += 1) call('tenant/large', 'success')
  for (const user of ['a', 'b', 'c', 'd', 'e', 'f'])
    for (let times = 0; times < 6; times += 1) call(`tenant/${user}`, 'failure')
  begin('tenant/new')
  t.ok(mayCall('tenant/new'))
})

t.test('the only tenant of a channel is kept from it while it is dead', async (t) => {
  const { call, kind, pass } = setUp()
  for (let times = 0; times < settings.minimumFailures; times += 1) t.ok(call('only', 'failure'))
  t.notOk(call('only', 'failure'))
  t.equal(kind(), 'open')
  pass(settings.pauseMs)
  for (let times = 0; times < settings.probesToClose; times += 1) t.ok(call('only', 'success'))
  t.equal(kind(), 'closed')
})

t.test('a channel that fails several tenants admits one probe for each', async (t) => {
  const { call, kind, mayCall, begin, health } = setUp()
  for (let times = 0; times < 3; times += 1) call('first', 'failure')
  t.equal(kind(), 'closed')
  call('second', 'failure')
  call('third', 'failure')
  t.equal(kind(), 'open')
  for (const tenant of ['first', 'second', 'fourth']) {
    t.ok(mayCall(tenant), `${tenant} has a probe`)
    begin(tenant)
    t.notOk(mayCall(tenant), `${tenant} has one probe`)
  }
  health.onOutcome(sharerIn('fourth'), 'failure', 0)
  t.notOk(mayCall('fourth'), 'a failed probe begins a pause')
  for (let times = 0; times < settings.probesToClose; times += 1) call('fifth', 'success')
  t.equal(mayCall('sixth'), true)
  begin('sixth')
  t.ok(mayCall('sixth'), 'probes of one tenant free the others')
  t.notOk(mayCall('fourth'), 'but no tenant whose own calls failed')
})

t.test('a channel on which most calls succeed stays open to new tenants', async (t) => {
  const { call, mayCall, begin } = setUp()
  for (let times = 0; times < 40; times += 1) call('large', 'success')
  for (const tenant of ['a', 'b', 'c', 'd', 'e', 'f'])
    for (let times = 0; times < 6; times += 1) call(tenant, 'failure')
  begin('new')
  t.ok(mayCall('new'))
})

t.test('a neutral outcome counts as no failure, a broken answer as half of one', async (t) => {
  const { call, kind, mayCall } = setUp()
  for (let times = 0; times < 50; times += 1) call('only', 'neutral')
  t.equal(kind(), 'closed')
  for (let times = 0; times < 2 * settings.minimumFailures - 1; times += 1)
    t.ok(call('only', 'broken_answer'))
  t.ok(mayCall('only'))
  call('only', 'broken_answer')
  t.notOk(mayCall('only'))
})

t.test('a neutral probe makes room for the next one', async (t) => {
  const { call, pass, kind } = setUp()
  for (let times = 0; times < 6; times += 1) call('only', 'failure')
  pass(settings.pauseMs)
  t.ok(call('only', 'neutral'))
  t.equal(kind(), 'half_open')
  t.ok(call('only', 'success'))
})

t.test('the states of ten thousand users are kept at most', async (t) => {
  const { health } = setUp()
  for (let user = 0; user < 12_000; user += 1) {
    const sharer = sharerIn(`tenant_${user % 3_000}`, `user_${user}`)
    for (let times = 0; times < 6; times += 1) health.onOutcome(sharer, 'failure', 0)
  }
  t.equal(health.shutUsers(), 10_000)
})

t.test('a user whose calls succeed is served, whatever other users do', async () => {
  const step = fc.record({
    user: fc.constantFrom('a', 'b/one', 'b/two', 'c', 'tenant/one', 'tenant/two'),
    outcome: fc.constantFrom('success', 'failure', 'failure', 'broken_answer', 'neutral'),
    hangs: fc.boolean(),
    goodCalls: fc.boolean(),
    ms: fc.integer({ min: 0, max: 2_000 }),
  } as const)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { call, pass, begin, mayCall } = setUp()
      return steps.every(({ user, outcome, hangs, goodCalls, ms }) => {
        if (hangs && mayCall(user)) begin(user)
        else call(user, outcome)
        pass(ms)
        return !goodCalls || call('tenant/good', 'success')
      })
    }),
    { numRuns: propertyRuns(200) },
  )
})
