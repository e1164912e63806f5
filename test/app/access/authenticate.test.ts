import { catalog } from '../../../src/families/index.ts'
import t, { type Test } from 'tap'
import {
  createAuthenticator,
  followTokens,
  type Authenticator,
} from '../../../src/app/access/authenticate.ts'
import {
  changeToken,
  changeTokenLimits,
  disableToken,
  issueToken,
  rotateToken,
} from '../../../src/app/accounts/account-commands.ts'
import { noLimits } from '../../../src/app/spending/throttle/limits.ts'
import { openDemoTenant } from '../../../src/app/accounts/demo.ts'
import { tokenDecider } from '../../../src/domain/token/decider.ts'
import { type TokenEventData, tokenStream } from '../../../src/domain/token/events.ts'
import { SERVER_VERSIONS } from '../../../infra/embedded/eventstore/versions.ts'
import { balances } from '../../helpers/ledger-balances.ts'
import { systemClock, toTimestamp } from '../../../src/kernel/clock.ts'
import { newId, newSecret, sha256Hex } from '../../../src/kernel/ids.ts'
import { executeCommand } from '../../../src/eventlog/log/execute.ts'
import { silentLog } from '../../../src/kernel/log.ts'
import { eventually, until } from '../../helpers/eventually.ts'
import { startWorld, TENANT, type World } from '../support/world.ts'

async function authenticatorOf(
  t: Test,
  world: World,
  nowMs: () => number = Date.now,
  defaultLimits = noLimits,
): Promise<Authenticator> {
  const authenticator = createAuthenticator({
    catalog,
    pool: world.pool,
    log: world.log,
    clock: { nowMs },
    logger: silentLog,
    defaultLimits,
  })
  const stop = new AbortController()
  const { done } = await followTokens({
    log: world.log,
    pool: world.pool,
    authenticator,
    logger: silentLog,
    signal: stop.signal,
  })
  t.teardown(async () => {
    stop.abort()
    await done
  })
  return authenticator
}

const wanted = { tenantId: TENANT, userId: 'user_1', kind: 'model', name: 'test' } as const

const accessOf = ({ log }: Pick<Awaited<ReturnType<typeof startWorld>>, 'log'>) => ({
  log,
  catalog,
  clock: systemClock,
  correlationId: 'test',
  actor: 'tests',
})

t.test('authentication of tokens', async (t) => {
  const world = await startWorld(t, { prices: false })
  const access = accessOf(world)

  await t.test(
    'a token is valid right after it was issued, also if it was tried before',
    async (t) => {
      const { authenticate } = await authenticatorOf(t, world)
      const { secret, tokenId } = await issueToken(access, {
        ...wanted,
        models: ['domestic-video-2-0'],
      })
      const answer = await authenticate(secret)
      t.match(answer, { ok: true, principal: { tokenId, tenantId: TENANT, kind: 'model' } })
      t.same(answer.ok && [...(answer.principal.models ?? [])], ['domestic-video-2-0'])
    },
  )

  await t.test('a token for a version alias may use its model, whatever its family', async (t) => {
    const { authenticate } = await authenticatorOf(t, world)
    const aliases = ['artB-5-0-260128', 'domestic-video-2-0-260128', 'text-basic']
    const names = ['artB-5.0', 'domestic-video-2-0', 'text-basic']
    const { secret, tokenId } = await issueToken(access, { ...wanted, models: aliases })
    const answer = await authenticate(secret)
    t.same(answer.ok && [...(answer.principal.models ?? [])], names)
    const [issued] = await world.log.readStream(tokenStream(tokenId))
    t.same(issued?.data, { ...issued?.data, models: names }, 'written under its external name')

    await t.test('a token whose recorded models name an alias may use its model', async (t) => {
      const old = newSecret('sk-')
      const oldId = newId('token', Date.now())
      const data = {
        ...(issued?.data as TokenEventData<'TokenIssued'>),
        tokenId: oldId,
        secretHash: sha256Hex(old),
        models: ['artB-5-0-260128'],
      }
      await executeCommand({
        log: world.log,
        stream: tokenStream(oldId),
        decider: tokenDecider,
        command: { kind: 'issue', data },
        commandId: newId('cmd', Date.now()),
        metadata: { correlationId: 'test', actor: 'tests' },
      })
      const read = await authenticate(old)
      t.same(read.ok && [...(read.principal.models ?? [])], ['artB-5.0'])
    })
  })

  await t.test('a token that was never issued is unknown, whatever its shape', async (t) => {
    const { authenticate } = await authenticatorOf(t, world)
    const secrets = [newSecret('sk-'), 'sk-', '', 'x'.repeat(10_000), 'sk-\u0000', 'bearer']
    for (const secret of secrets)
      t.same(await authenticate(secret), { ok: false, reason: 'unknown' })
  })

  await t.test('many unknown tokens at once cost few reads of the log', async (t) => {
    let questions = 0
    const log = {
      ...world.log,
      endPosition: () => {
        questions += 1
        return world.log.endPosition()
      },
    }
    const { authenticate } = createAuthenticator({
      catalog,
      pool: world.pool,
      log,
      clock: systemClock,
      logger: silentLog,
    })
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => authenticate(newSecret('sk-'))),
    )
    t.ok(answers.every((answer) => !answer.ok && answer.reason === 'unknown'))
    t.ok(questions <= 20, `${questions} questions`)
  })

  await t.test(
    'an address that guesses tokens is no longer looked up, and known tokens still pass',
    async (t) => {
      let looks = 0
      const pool = new Proxy(world.pool, {
        get: (target, name) => {
          if (name === 'query') looks += 1
          const found: unknown = Reflect.get(target, name)
          return typeof found === 'function' ? found.bind(target) : found
        },
      })
      const { authenticate } = createAuthenticator({
        catalog,
        pool,
        log: world.log,
        clock: systemClock,
        monotonic: { nowMs: () => 0 },
        logger: silentLog,
        unknownPerMinute: 5,
      })
      const used = await issueToken(access, wanted)
      const fresh = await issueToken(access, wanted)
      const here = '203.0.113.9'
      t.match(await authenticate(used.secret, here), { ok: true })
      const wrong = newSecret('sk-')
      for (let n = 0; n < 20; n += 1)
        t.same(await authenticate(wrong, here), { ok: false, reason: 'unknown' }, 'one guess')
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => authenticate(newSecret('sk-'), here)),
      )
      const unknown = answers.filter((answer) => !answer.ok && answer.reason === 'unknown')
      t.equal(unknown.length, 4, 'also of many at once no more than the bound')
      looks = 0
      for (const secret of [newSecret('pat-'), fresh.secret])
        t.same(await authenticate(secret, here), {
          ok: false,
          reason: 'too_many_unknown',
          waitMs: 12_000,
        })
      t.match(await authenticate(used.secret, here), { ok: true }, 'one that is in use goes on')
      t.equal(looks, 0)
      t.match(await authenticate(fresh.secret, '203.0.113.8'), { ok: true })
      t.match(await authenticate(fresh.secret, here), { ok: true }, 'and is known here by now')
    },
  )

  await t.test('changed limits are in force within moments, cached or not', async (t) => {
    const defaults = { ...noLimits, requestsPerMinute: 60 }
    const { authenticate } = await authenticatorOf(t, world, Date.now, defaults)
    const { secret, tokenId } = await issueToken(access, wanted)
    const limits = async () => {
      const answer = await authenticate(secret)
      return answer.ok ? answer.principal.limits : answer.reason
    }
    t.same(await limits(), defaults)
    await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: 5 } })
    await eventually('five', async () => {
      const now = await limits()
      return typeof now === 'object' && now.requestsPerMinute === 5 ? true : undefined
    })
    await changeTokenLimits(access, { tokenId, changes: { requestsPerMinute: null } })
    await eventually('none', async () => ((await limits()) === undefined ? true : undefined))
    await changeToken(access, { tokenId, changes: { models: ['text-basic'] } })
    await eventually('bound to a model', async () => {
      const answer = await authenticate(secret)
      return answer.ok && answer.principal.models?.has('text-basic') ? true : undefined
    })
    const issued = await issueToken(access, { ...wanted, limits: { concurrentTasks: 2 } })
    t.match(await authenticate(issued.secret), {
      ok: true,
      principal: { limits: { requestsPerMinute: 60, concurrentTasks: 2 } },
    })
  })

  await t.test('a change while a token is read after a change is not overlooked', async (t) => {
    const { secret, tokenId } = await issueToken(access, wanted)
    const stream = tokenStream(tokenId)
    await world.settle()
    let reads = 0
    const pool = new Proxy(world.pool, {
      get(target, name) {
        if (name !== 'query') return Reflect.get(target, name, target) as unknown
        return async (query: { readonly name?: string }, ...rest: unknown[]) => {
          const answer: unknown = await Reflect.apply(target.query.bind(target), undefined, [
            query,
            ...rest,
          ])
          if (query.name !== 'access.token.hash' || (reads += 1) !== 2) return answer
          await disableToken(access, { tokenId, reason: 'leaked' })
          const disabled = (await world.log.readStream(stream)).at(-1)
          if (disabled !== undefined) authenticator.noticed(disabled)
          return answer
        }
      },
    })
    const { log } = world
    const authenticator = createAuthenticator({
      catalog,
      pool,
      log,
      clock: systemClock,
      logger: silentLog,
      defaultLimits: noLimits,
    })
    const [issued] = await log.readStream(stream)
    if (issued?.type !== 'TokenIssued') throw new Error('it was issued')
    authenticator.noticed({
      ...issued,
      type: 'TokenRotated',
      data: {
        ...issued.data,
        oldValidUntil: issued.data.issuedAt,
        rotatedAt: issued.data.issuedAt,
      },
    })
    await authenticator.authenticate(secret)
    t.ok(reads >= 2)
    t.match(await authenticator.authenticate(secret), { ok: false, reason: 'disabled' })
  })

  const revives = async (t: Test, isKnown: boolean): Promise<void> => {
    const { secret, tokenId } = await issueToken(access, wanted)
    let held: Promise<void> | undefined
    let isHeld = false
    const pool = new Proxy(world.pool, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name)
        if (typeof found !== 'function') return found
        if (name !== 'query') return found.bind(target)
        // What Postgres answered by now arrives when the test lets it.
        return async (...asked: readonly unknown[]) => {
          const wait = held
          const answer: unknown = await Reflect.apply(found, target, asked)
          isHeld ||= wait !== undefined
          await wait
          return answer
        }
      },
    })
    const { authenticate, noticed, noticedUnknown } = createAuthenticator({
      catalog,
      pool,
      log: world.log,
      clock: systemClock,
      logger: silentLog,
    })
    await world.settle()
    let release: () => void = () => undefined
    held = new Promise((resolve) => (release = resolve))
    const early = authenticate(secret)
    await until(() => isHeld)
    held = undefined
    await disableToken(access, { tokenId, reason: 'stolen' })
    for (const event of await world.log.readStream(tokenStream(tokenId)))
      if (event.type === 'TokenDisabled') (isKnown ? noticed : noticedUnknown)(event)
    t.match(await authenticate(secret), { ok: false, reason: 'disabled' })
    release()
    await early
    t.match(await authenticate(secret), { ok: false, reason: 'disabled' })
  }
  await t.test('a read that began before a token was disabled does not revive it', (t) =>
    revives(t, true),
  )
  await t.test('a read that began before an unreadable change does not revive a token', (t) =>
    revives(t, false),
  )

  await t.test('a change that is not notified applies after a bounded delay', async (t) => {
    let nowMs = 1_000_000
    // Nothing is followed: it hears of no change.
    const { authenticate } = createAuthenticator({
      catalog,
      pool: world.pool,
      log: world.log,
      clock: systemClock,
      monotonic: { nowMs: () => nowMs },
      logger: silentLog,
    })
    const tokens = await Promise.all([issueToken(access, wanted), issueToken(access, wanted)])
    const [used, seldom] = tokens
    for (const { secret } of tokens) t.equal((await authenticate(secret)).ok, true)
    for (const { tokenId } of tokens) await disableToken(access, { tokenId, reason: 'leaked' })
    await world.settle()
    nowMs += 29_999
    t.equal((await authenticate(used.secret)).ok, true)
    nowMs += 1
    t.equal((await authenticate(used.secret)).ok, true, 'it is looked at again meanwhile')
    await eventually('the refusal', async () =>
      (await authenticate(used.secret)).ok ? undefined : true,
    )
    nowMs += 90_000
    t.match(await authenticate(seldom.secret), { ok: false, reason: 'disabled' }, 'at once')
  })

  await t.test('a rotated secret ends after the overlap, the new one works', async (t) => {
    let nowMs = Date.now()
    const { authenticate } = await authenticatorOf(t, world, () => nowMs)
    const { secret, tokenId } = await issueToken(access, wanted)
    t.equal((await authenticate(secret)).ok, true)
    const rotated = await rotateToken(access, { tokenId, kind: 'model', overlapMs: 60_000 })
    t.equal((await authenticate(rotated.secret)).ok, true)
    t.equal((await authenticate(secret)).ok, true)
    await world.settle()
    nowMs += 61_000
    t.match(await authenticate(secret), { ok: false, reason: 'expired' })
    t.equal((await authenticate(rotated.secret)).ok, true)
  })

  await t.test('an expired token is distinguished from an unknown one', async (t) => {
    let nowMs = Date.now()
    const { authenticate } = await authenticatorOf(t, world, () => nowMs)
    const expiresAt = toTimestamp(nowMs + 60_000)
    const { secret, tokenId } = await issueToken(access, { ...wanted, expiresAt })
    t.equal((await authenticate(secret)).ok, true)
    nowMs += 60_001
    const { tenantId, userId } = wanted
    const token = { tokenId, tenantId, userId }
    t.same(await authenticate(secret), { ok: false, reason: 'expired', token })
  })

  await t.test('no secret is in the log', async (t) => {
    const { secret, tokenId } = await issueToken(access, wanted)
    const events = await world.log.readStream(`token-${tokenId}`)
    t.notMatch(JSON.stringify(events.map((event) => event.data)), secret.slice(3))
  })

  await t.test('the demo tenant is opened once however often it is tried', async (t) => {
    const first = await openDemoTenant(access)
    const again = await openDemoTenant(access)
    await world.settle()
    const both = await balances(world.pool, first.tenantId)
    t.same(
      both.map(({ currency, credit }) => [currency, credit]),
      [
        ['CNY', '10000'],
        ['USD', '10000'],
      ],
    )
    const { authenticate } = await authenticatorOf(t, world)
    t.match(await authenticate(first.modelToken), { ok: true, principal: { kind: 'model' } })
    t.match(await authenticate(again.queryToken), {
      ok: true,
      principal: { kind: 'query', scope: { level: 'all_users' } },
    })
  })
})

for (const version of SERVER_VERSIONS)
  t.test(`a disabled token stops working within moments, on a log of ${version}`, async (t) => {
    const world = await startWorld(t, { prices: false, version })
    const access = {
      log: world.log,
      catalog,
      clock: systemClock,
      correlationId: 'test',
      actor: 'tests',
    }
    // It follows from a log in which nothing is a token's yet, as one process after another would.
    const { authenticate } = await authenticatorOf(t, world)
    const { secret, tokenId } = await issueToken(access, wanted)
    t.equal((await authenticate(secret)).ok, true)
    const later = await authenticatorOf(t, world)
    t.equal((await later.authenticate(secret)).ok, true)
    await disableToken(access, { tokenId, reason: 'leaked' })
    for (const one of [authenticate, later.authenticate]) {
      await eventually(
        'the refusal',
        async () => ((await one(secret)).ok ? undefined : true),
        5_000,
      )
      t.match(await one(secret), { ok: false, reason: 'disabled' })
    }
  })

t.test('a token has its role also while tables without roles are rebuilt', async (t) => {
  const world = await startWorld(t, { prices: false })
  const access = accessOf(world)
  const issue = async (kind: 'query' | 'admin', role?: 'finance' | 'support') =>
    (await issueToken(access, { ...wanted, kind, ...(role && { role }) })).secret
  const secrets = [
    await issue('admin', 'finance'),
    await issue('admin'),
    await issue('query', 'support'),
    await issue('query'),
  ]
  const roleOf = async (log: World['log'], of: string) => {
    const deps = { catalog, pool: world.pool, clock: systemClock, logger: silentLog }
    const answer = await createAuthenticator({ ...deps, log }).authenticate(of)
    return answer.ok ? (answer.principal.role ?? 'all') : answer.reason
  }
  const roles = (log = world.log) => Promise.all(secrets.map((one) => roleOf(log, one)))
  const issued = ['finance', 'all', 'support', 'all']
  t.same(await roles(), issued)
  await world.settle()
  await world.pool.query('alter table access.tokens drop column role')
  t.same(await roles(), issued, 'by the log')
  const readStream = () => Promise.resolve([])
  t.same(new Set(await roles({ ...world.log, readStream })), new Set(['unavailable']))
})

t.test('without Postgres a token is neither right nor wrong', async (t) => {
  const world = await startWorld(t, { prices: false })
  const broken = { query: () => Promise.reject(new Error('connection refused')) }
  const { authenticate } = createAuthenticator({
    catalog,
    pool: broken as unknown as World['pool'],
    log: world.log,
    clock: systemClock,
    logger: silentLog,
  })
  t.same(await authenticate(newSecret('sk-')), { ok: false, reason: 'unavailable' })
})
