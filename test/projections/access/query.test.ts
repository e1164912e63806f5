import t from 'tap'
import { accessProjection } from '../../../projections/access/projection.ts'
import {
  countTokens,
  findToken,
  findTokenByHash,
  listTenants,
  listTokens,
  listUsers,
  tokensOfSubject,
} from '../../../projections/access/query.ts'
import { applied, testPool } from '../support/database.ts'
import { openTenant, Recorder, START_MS } from '../support/history.ts'

const time = (offsetMs: number): string => new Date(START_MS + offsetMs).toISOString()

t.test('tokens are found by the hash of any of their secrets', async (t) => {
  const pool = await testPool(t)
  const recorder = new Recorder()
  const token = 'token-tok_tenant_1'
  const rotated = (secretHash: string, at: number, oldUntil: number) =>
    recorder.record(token, {
      type: 'TokenRotated',
      data: {
        tokenId: 'tok_tenant_1',
        secretHash,
        lastFour: secretHash.slice(-4),
        rotatedAt: time(at),
        oldValidUntil: time(oldUntil),
      },
    })
  const events = [
    ...openTenant(recorder, 'tenant_1'),
    ...openTenant(recorder, 'tenant_2'),
    rotated('hash_second', 100, 10_000),
    rotated('hash_third', 200, 90_000),
    recorder.record('token-tok_tenant_2', {
      type: 'TokenDisabled',
      data: { tokenId: 'tok_tenant_2', reason: 'leaked', disabledAt: time(300) },
    }),
    recorder.record('token-tok_query', {
      type: 'TokenIssued',
      data: {
        tokenId: 'tok_query',
        secretHash: 'hash_query',
        lastFour: 'wxyz',
        tenantId: 'tenant_1',
        userId: 'user_0',
        kind: 'query',
        name: 'q',
        scope: { level: 'specified_users', userIds: ['user_0'] },
        models: ['m1', 'm2'],
        expiresAt: time(500),
        limits: { requestsPerMinute: 60, tokensPerMinute: null },
        issuedAt: time(400),
      },
    }),
    recorder.record(token, {
      type: 'TokenLimitsChanged',
      data: { tokenId: 'tok_tenant_1', limits: { concurrentTasks: 5 }, changedAt: time(450) },
    }),
    recorder.record(token, {
      type: 'TokenUpdated',
      data: {
        tokenId: 'tok_tenant_1',
        name: 'renamed',
        models: ['m3'],
        expiresAt: time(90_000),
        updatedAt: time(460),
      },
    }),
    recorder.record('token-tok_query', {
      type: 'TokenUpdated',
      data: { tokenId: 'tok_query', name: 'wide', updatedAt: time(470) },
    }),
    recorder.record('account-tenant_1', {
      type: 'UserAdded',
      data: { tenantId: 'tenant_1', userId: 'user_1', name: 'Second', addedAt: time(480) },
    }),
  ]
  await applied(t, pool, events, [accessProjection], 2)
  t.equal((await findTokenByHash(pool, 'hash_third'))?.secretValidUntilMs, undefined)
  t.equal((await findTokenByHash(pool, 'hash_second'))?.secretValidUntilMs, START_MS + 90_000)
  t.equal(
    (await findTokenByHash(pool, 'hash_tenant_1'))?.secretValidUntilMs,
    START_MS + 10_000,
    'a later rotation does not lengthen it',
  )
  t.equal((await findTokenByHash(pool, 'hash_second'))?.tokenId, 'tok_tenant_1')
  t.match(await findTokenByHash(pool, 'hash_tenant_2'), {
    disabledAtMs: START_MS + 300,
    disabledReason: 'leaked',
  })
  t.match(await findTokenByHash(pool, 'hash_query'), {
    kind: 'query',
    scope: { level: 'specified_users', userIds: ['user_0'] },
    name: 'wide',
    models: undefined,
    limits: { requestsPerMinute: 60, tokensPerMinute: null },
    expiresAtMs: undefined,
    tenantId: 'tenant_1',
    secretHash: 'hash_query',
  })
  t.match(await findTokenByHash(pool, 'hash_query'), { role: undefined, isRoleKnown: true })
  t.equal(await findTokenByHash(pool, 'hash_unknown'), undefined)
  t.equal((await findToken(pool, 'tok_tenant_1'))?.lastFour, 'hird')
  t.same((await findToken(pool, 'tok_tenant_1'))?.limits, { concurrentTasks: 5 })
  t.match(await findToken(pool, 'tok_tenant_1'), {
    name: 'renamed',
    models: ['m3'],
    expiresAtMs: START_MS + 90_000,
  })
  t.equal((await findToken(pool, 'tok_tenant_2'))?.limits, undefined)
  t.same(
    (await listTokens(pool, { tenantId: 'tenant_1', limit: 10 })).map((row) => row.tokenId),
    ['tok_tenant_1', 'tok_query'],
  )
  t.same(
    (await listTokens(pool, { after: 'tok_tenant_2', limit: 10 })).map((row) => row.tokenId),
    ['tok_query'],
  )
  t.same(await listTenants(pool, { after: 'tenant_1', limit: 5 }), [
    { tenantId: 'tenant_2', name: 'tenant_2', openedAtMs: START_MS, status: 'open' },
  ])
  const ofUser = (userId: string, after?: string) =>
    listTokens(pool, { tenantId: 'tenant_1', userId, after, limit: 10 })
  t.same(
    (await ofUser('user_0', 'tok_tenant_1')).map((row) => row.tokenId),
    ['tok_query'],
  )
  t.same(await ofUser('user_1'), [])
  t.equal(await countTokens(pool, { tenantId: 'tenant_1', userId: 'user_0' }), 2)
  t.equal(
    await countTokens(pool, { tenantId: 'tenant_2', userId: 'user_0' }),
    0,
    'disabled ones leave room',
  )
  const users = (page: object) => listUsers(pool, { tenantId: 'tenant_1', limit: 10, ...page })
  t.same(
    (await users({})).map(({ userId }) => userId),
    ['user_0', 'user_1'],
  )
  t.same(await users({ after: 'user_0' }), [
    {
      tenantId: 'tenant_1',
      userId: 'user_1',
      name: 'Second',
      addedAtMs: START_MS + 480,
      suspendedReason: null,
    },
  ])
  t.equal((await users({ limit: 1 })).length, 1)
})

t.test('tokens are found in tables of version 1 too, during their rebuild', async (t) => {
  const pool = await testPool(t)
  await applied(t, pool, openTenant(new Recorder(), 'tenant_1'), [accessProjection], 2)
  await pool.query('alter table access.tokens drop column limits')
  await pool.query('alter table access.tokens drop column role')
  await pool.query('alter table access.tokens drop column subject')
  t.same(await tokensOfSubject(pool, 'mia@example.com'), [])
  const found = await findTokenByHash(pool, 'hash_tenant_1')
  t.match(found, { tokenId: 'tok_tenant_1', limits: undefined, isRoleKnown: false })
})
