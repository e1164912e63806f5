import * as fc from 'fast-check'
import t from 'tap'
import { defaultBreakerSettings } from '../../../src/app/channels/breaker.ts'
import { ChannelHealth, type ChannelOutcome } from '../../../src/app/channels/health.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

const settings = defaultBreakerSettings

function setUp() {
  let nowMs = 0
  const health = new ChannelHealth(settings, nowMs)
  /** Whether a call was let through; it ends at once. */
  const call = (tenantId: string, outcome: ChannelOutcome): boolean => {
    if (!health.mayCall(tenantId, nowMs)) return false
    health.onCall(tenantId, nowMs)
    health.onOutcome(tenantId, outcome, nowMs)
    return true
  }
  return {
    health,
    call,
    pass: (ms: number) => (nowMs += ms),
    kind: () => health.kind(nowMs),
    mayCall: (tenantId: string) => health.mayCall(tenantId, nowMs),
    begin: (tenantId: string) => health.onCall(tenantId, nowMs),
  }
}

t.test('failures of one tenant close the channel to that tenant only', async (t) => {
  const { call, health, mayCall, pass, kind } = setUp()
  for (let times = 0; times < 20; times += 1) call('attacker', 'failure')
  t.equal(mayCall('attacker'), false)
  t.equal(health.shutTenants(), 1)
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
  health.onOutcome('fourth', 'failure', 0)
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

t.test('the states of a thousand tenants are kept at most', async (t) => {
  const { health } = setUp()
  for (let tenant = 0; tenant < 3_000; tenant += 1)
    for (let times = 0; times < 6; times += 1) health.onOutcome(`tenant_${tenant}`, 'failure', 0)
  t.equal(health.shutTenants(), 1_000)
})

t.test('a tenant whose calls succeed is served, whatever other tenants do', async () => {
  const step = fc.record({
    tenant: fc.constantFrom('a', 'b', 'c', 'd'),
    outcome: fc.constantFrom('success', 'failure', 'failure', 'broken_answer', 'neutral'),
    hangs: fc.boolean(),
    goodCalls: fc.boolean(),
    ms: fc.integer({ min: 0, max: 2_000 }),
  } as const)
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { call, pass, begin, mayCall } = setUp()
      return steps.every(({ tenant, outcome, hangs, goodCalls, ms }) => {
        if (hangs && mayCall(tenant)) begin(tenant)
        else call(tenant, outcome)
        pass(ms)
        return !goodCalls || call('good', 'success')
      })
    }),
    { numRuns: propertyRuns(200) },
  )
})
