import t from 'tap'
import type { Principal } from '../../../src/app/access/principal.ts'
import { createTenantAccess } from '../../../src/app/access/tenant-access.ts'
import type { AccountSettings } from '../../../src/domain/account/settings.ts'

const suspended: AccountSettings = {
  status: { revision: 1, status: 'suspended', reason: 'overdue', suspendedUsers: [] },
}
const principal = { kind: 'model', tenantId: 'acme', userId: 'ann' } as Principal
const clock = { nowMs: () => 0 }

t.test('a request waits for the account of its tenant', async (t) => {
  const { check } = createTenantAccess(
    { awaited: () => Promise.resolve(suspended), known: () => ({}) },
    clock,
  )
  await t.rejects(async () => check(principal, 'create'), { code: 'tenant_suspended' })
  await t.resolves(async () => check(principal, 'read'))
})

t.test('what is known counts while the account cannot be read', async (t) => {
  const away = () => Promise.reject(new Error('the log is away'))
  const known = createTenantAccess({ awaited: away, known: () => suspended }, clock)
  await t.rejects(async () => known.check(principal, 'create'), { code: 'tenant_suspended' })
  await t.resolves(async () =>
    createTenantAccess({ awaited: away, known: () => ({}) }, clock).check(principal, 'create'),
  )
})

t.test('a read does not wait for a log that has stopped', async (t) => {
  const stopped = () => new Promise<AccountSettings>(() => undefined)
  const { check } = createTenantAccess({ awaited: stopped, known: () => suspended }, clock)
  await t.resolves(async () => check(principal, 'read'))
})

t.test('nothing is waited for while what is known is valid', (t) => {
  const { check } = createTenantAccess({ awaited: () => undefined, known: () => suspended }, clock)
  t.equal(check(principal, 'read'), undefined)
  t.throws(() => check(principal, 'create'), { code: 'tenant_suspended' })
  t.end()
})

t.test('a creation is checked by what was read for its prices', (t) => {
  const never = () => Promise.reject(new Error('nothing is read'))
  const { checkCreation } = createTenantAccess({ awaited: never, known: () => suspended }, clock)
  t.throws(() => checkCreation(principal), { code: 'tenant_suspended' })
  createTenantAccess({ awaited: never, known: () => ({}) }, clock).checkCreation(principal)
  t.end()
})
