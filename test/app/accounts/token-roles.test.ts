import t from 'tap'
import { addUser, issueToken } from '../../../src/app/accounts/account-commands.ts'
import { createManagedTokens } from '../../../src/app/accounts/managed-tokens.ts'
import type { TokenKind, TokenRole } from '../../../src/domain/token/events.ts'
import { catalog } from '../../../src/families/index.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import { startWorld, TENANT } from '../support/world.ts'

/**
 * No route lets a token with a role manage tokens. Behind the routes, one with a role could make no token that is
 * wider than itself either.
 */

const world = await startWorld(t, { prices: false })
const { log, pool } = world
const access = { log, catalog, clock: systemClock, correlationId: 'test', actor: 'tests' }
const deps = { log, catalog, clock: systemClock, db: pool, defaultLimits: {}, served: [] }
const managed = createManagedTokens(deps)
const owner = { tenantId: TENANT, userId: 'user_1' } as const
const all = { kind: 'all' } as const
await addUser(access, { ...owner, name: 'Ann' })

const issue = async (kind: TokenKind, role?: TokenRole): Promise<string> =>
  (await issueToken(access, { ...owner, kind, name: kind, ...(role && { role }) })).tokenId
const finance = await issue('admin', 'finance')
const byFinance = { ...owner, tokenId: finance, requestId: 'req_1', role: 'finance' } as const
const byOperator = { ...byFinance, tokenId: await issue('admin'), role: undefined }

t.test('a token of a role issues one of the same role, or none', async (t) => {
  const ask = (kind: TokenKind, role?: TokenRole) =>
    managed.issue(all, byFinance, { ...owner, kind, name: 'issued', ...(role && { role }) })
  t.match((await ask('query')).token, { role: 'finance', issuedBy: finance }, 'it is inherited')
  t.match((await ask('query', 'finance')).token, { role: 'finance' })
  await t.rejects(ask('query', 'support'), { code: 'scope_denied', details: { param: 'role' } })
  for (const kind of ['model', 'profile'] as const)
    await t.rejects(ask(kind), { code: 'token_scope_invalid', details: { param: 'role' } })
})

t.test('a token of a role changes and rotates only tokens of the same role', async (t) => {
  const changes = { name: 'renamed' }
  const overlapMs = 0
  for (const role of [undefined, 'support', 'finance'] as const) {
    const tokenId = await issue('query', role)
    const attempts = [
      async () => (await managed.change(all, byFinance, { tokenId, changes })).token,
      async () => (await managed.rotate(all, byFinance, { tokenId, overlapMs })).token,
    ]
    for (const attempt of attempts)
      if (role === 'finance') t.match(await attempt(), { role })
      else await t.rejects(attempt(), { code: 'scope_denied', details: { param: 'role' } })
    const { token } = await managed.rotate(all, byOperator, { tokenId, overlapMs })
    t.equal(token.role, role, 'it stays when an operator rotates it')
  }
})
