import t from 'tap'
import { accountDecider } from '../../../src/domain/account/decider.ts'
import type { AccountEvent } from '../../../src/domain/account/events.ts'
import {
  MAX_SUBJECTS,
  type SubjectLimits,
  type WantedLimits,
} from '../../../src/domain/account/limits.ts'
import { valueOf } from '../../../src/domain/account/setting.ts'
import type { SetSetting } from '../../../src/domain/account/settings.ts'
import { MAX_TOKEN_LIMIT } from '../../../src/domain/token/events.ts'

const tenantId = 'tenant_1'
const at = '2026-01-02T03:04:05.000Z'
const opened: AccountEvent = {
  type: 'TenantOpened',
  data: { tenantId, name: 'Demo', openedAt: at },
}
const ofTenant: SubjectLimits = { subject: { kind: 'tenant' }, requestsPerMinute: 600 }
const ofUser: SubjectLimits = {
  subject: { kind: 'user', userId: 'user_1' },
  concurrentCalls: 5,
  concurrentTasks: 2,
}

const set = ({ basis, ...wanted }: WantedLimits & { readonly basis?: number }): SetSetting => ({
  kind: 'set-setting',
  setting: 'limits',
  tenantId,
  wanted,
  basis,
  at,
})
const after = (...commands: readonly SetSetting[]) =>
  commands.reduce(
    (known, command) => accountDecider.decide(command, known).reduce(accountDecider.evolve, known),
    accountDecider.evolve(accountDecider.initial, opened),
  )
const decide = (command: SetSetting, state = after()) => accountDecider.decide(command, state)
const both = set({ limits: [ofTenant, ofUser] })

t.test('the event says why, where that was given, and the settings do not', async (t) => {
  const why = { reason: ' a launch on Friday ' }
  const [event] = decide({ ...both, ...why })
  t.match(event, { type: 'LimitsSet', data: { reason: 'a launch on Friday' } })
  const known = after({ ...both, ...why })
  t.notOk('reason' in (known.settings.limits ?? {}))
  t.same(decide({ ...both, reason: 'another' }, known), [], 'a reason alone changes nothing')
  for (const reason of [undefined, '', '  '])
    for (const { data } of decide({ ...both, reason })) t.notOk('reason' in data)
  for (const reason of ['two\nlines', 'x'.repeat(257), 'a\u200bb'])
    t.throws(() => decide({ ...both, reason }), { code: 'setting_invalid' }, reason.slice(0, 9))
})

t.test('limits are set as a whole, with a revision from 1', async (t) => {
  const [event] = decide(both)
  t.same(event, {
    type: 'LimitsSet',
    data: { tenantId, revision: 1, limits: [ofTenant, ofUser], setAt: at },
  })
  const [next] = decide(set({ limits: [ofUser] }), after(both))
  if (next?.type !== 'LimitsSet') throw new Error('not set')
  t.same(valueOf(next), { revision: 2, limits: [ofUser] })
})

t.test('equal limits in another order decide to no event', async (t) => {
  t.same(decide(set({ limits: [ofUser, ofTenant], basis: 0 }), after(both)), [])
  t.same(decide(set({ limits: [] })), [], 'none before, none now')
  const unlimited = { ...ofTenant, tokensPerMinute: undefined }
  t.same(decide(set({ limits: [unlimited, ofUser] }), after(both)), [])
})

t.test('setting_changed when limits changed since they were read', async (t) => {
  t.throws(() => decide(set({ limits: [ofUser], basis: 0 }), after(both)), {
    code: 'setting_changed',
    details: { setting: 'limits', revision: 1 },
  })
  t.equal(decide(set({ limits: [ofUser], basis: 1 }), after(both)).length, 1)
})

t.test('an invalid limit is refused, naming its position', async (t) => {
  const refused = (limits: readonly SubjectLimits[], param: string, message: RegExp) =>
    t.throws(() => decide(set({ limits })), {
      code: 'setting_invalid',
      message,
      details: { setting: 'limits', param },
    })
  for (const requestsPerMinute of [0, -1, 1.5, MAX_TOKEN_LIMIT + 1, 2 ** 53, Number.NaN])
    refused([ofUser, { ...ofTenant, requestsPerMinute }], 'limits[1]', /whole number from 1 to/)
  refused([{ subject: { kind: 'tenant' } }], 'limits[0]', /sets no limit/)
  refused(
    [ofUser, ofTenant, { ...ofUser, concurrentTasks: 9 }],
    'limits',
    /user user_1 is given twice/,
  )
  const many = Array.from({ length: MAX_SUBJECTS + 1 }, (_, n): SubjectLimits => ({
    subject: { kind: 'user', userId: `user_${n}` },
    concurrentTasks: 1,
  }))
  refused(many, 'limits', /at most 1000/)
  t.equal(decide(set({ limits: many.slice(1) })).length, 1)
})

t.test('tenant_not_found for limits of an unknown tenant', async (t) => {
  t.throws(() => decide(both, accountDecider.initial), { code: 'tenant_not_found' })
})
