import t from 'tap'
import type { Party } from '../../../src/domain/account/party.ts'
import {
  issuerDecider,
  type IssuerState,
  type PublishKey,
  type SetIssuer,
} from '../../../src/domain/issuer/decider.ts'

const at = '2026-01-02T03:04:05.000Z'
const party: Party = {
  legalName: 'Tollgate Services Ltd',
  address: ['1 Gate Street', 'London'],
  country: 'GB',
  taxId: 'GB123456789',
}
const set = (more: Partial<Party> = {}, basis?: number): SetIssuer => ({
  kind: 'set-profile',
  wanted: { ...party, ...more },
  basis,
  at,
})
const publish = (vkey: string): PublishKey => ({ kind: 'publish-key', vkey, at })
const after = (...commands: readonly (SetIssuer | PublishKey)[]): IssuerState =>
  commands.reduce(
    (state, command) => issuerDecider.decide(command, state).reduce(issuerDecider.evolve, state),
    issuerDecider.initial,
  )

t.test('a profile is counted from 1, and the same again is no event', async (t) => {
  t.same(issuerDecider.decide(set(), issuerDecider.initial), [
    { type: 'IssuerProfileSet', data: { revision: 1, ...party, setAt: at } },
  ])
  const state = after(set(), set({ taxId: undefined }))
  t.same(
    state.profiles.map(({ revision, taxId }) => [revision, taxId]),
    [
      [1, 'GB123456789'],
      [2, undefined],
    ],
  )
  t.same(issuerDecider.decide(set({ taxId: undefined }, 0), state), [])
  t.throws(() => issuerDecider.decide(set({}, 1), state), {
    code: 'setting_changed',
    details: { setting: 'issuer', revision: 2 },
  })
  t.equal(issuerDecider.decide(set({}, 2), state).length, 1)
})

t.test('members that a statement cannot show are refused by name', async (t) => {
  for (const [more, param] of [
    [{ legalName: '' }, 'legal_name'],
    [{ legalName: ' Acme' }, 'legal_name'],
    [{ address: [] }, 'address'],
    [{ address: ['a', 'b\n'] }, 'address[1]'],
    [{ country: 'uk' }, 'country'],
    [{ taxId: 'x'.repeat(65) }, 'tax_id'],
  ] as const)
    t.throws(() => issuerDecider.decide(set(more), issuerDecider.initial), {
      code: 'setting_invalid',
      details: { setting: 'issuer', param },
    })
})

t.test('a key is published once, and stays after another one', async (t) => {
  const state = after(publish('a'), publish('b'), publish('a'))
  t.same(state.vkeys, ['a', 'b'])
})
