import t from 'tap'
import { createCallClaims, createRenewal } from '../../../../src/app/calls/claims/claims.ts'
import { type CallClaim, RepeatedAnswer } from '../../../../src/app/calls/claims/types.ts'
import { purgeCallClaims } from '../../../../src/app/calls/claims/statements.ts'
import { noCrash } from '../../../../src/app/crash-points.ts'
import type { CompletedCall } from '../../../../src/app/calls/family.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'
import { DomainError, isDomainError } from '../../../../src/kernel/errors.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { idleJournal } from '../support/call-deps.ts'
import { keyedBy, startTextWorld, textInput, type TextReplica } from '../support/text-world.ts'

const world = await startTextWorld(t)
const [here, there] = [await world.text(), await world.text()]

/** Makes a call under a key; its error where it has one. */
async function make(
  { calls }: Pick<TextReplica, 'calls'>,
  key: string,
  prompt = 'hello',
): Promise<CompletedCall<JsonObject> | DomainError | RepeatedAnswer> {
  let claim: CallClaim | undefined
  const input = {
    ...textInput({ prompt: `${prompt} [[client=${key}]]` }),
    ...keyedBy(key, (taken) => (claim = taken)),
  }
  try {
    const call = await calls.complete(input)
    await claim?.keep({ status: 200, headers: {}, body: Buffer.from(call.callId) })
    return call
  } catch (error) {
    if (isDomainError(error) || error instanceof RepeatedAnswer) return error
    throw error
  }
}

const settledOf = async (callId: string): Promise<number> =>
  (await world.callEvents()).filter(
    ({ type, data }) => type === 'CallSettled' && data.callId === callId,
  ).length

const sent = (key: string) =>
  eventually('it is under way', async () =>
    (await world.accepted(key)).length > 0 ? true : undefined,
  )

const endLeases = () => world.pool.query(`update ops.call_claims set lease_until = '-infinity'`)

t.test('a slow holder whose key was taken over does not settle', async (t) => {
  const key = 'slow'
  const slow = make(here, key, 'hello [[sandbox first-byte-ms=700]]')
  await sent(key)
  await endLeases()
  const second = await make(there, key)
  t.match(second, { callId: /^call_/ }, 'the lease was over: it is made again')
  const first = await slow
  t.match(first, { code: 'idempotency_in_progress', details: { callId: /^call_/ } })
  const ids = [first, second].map((one) =>
    isDomainError(one) ? String(one.details['callId']) : (one as CompletedCall<JsonObject>).callId,
  )
  t.same(await Promise.all(ids.map(settledOf)), [0, 1], 'one of them is settled')
  const failed = await eventually('what it cost us is noted', async () =>
    (await world.callEvents()).find(({ data }) => data.callId === ids[0]),
  )
  t.match(failed, { type: 'CallFailed', data: { code: 'idempotency_in_progress' } })
  t.ok((await make(here, key)) instanceof RepeatedAnswer)
})

t.test('a call during which Postgres goes away settles nothing and frees its key', async (t) => {
  const key = 'away'
  const calling = make(here, key, 'hello [[sandbox first-byte-ms=300]]')
  await sent(key)
  await world.pool.query('alter table ops.call_claims rename to away')
  const refused = await calling
  t.match(refused, { code: 'database_unavailable', details: { callId: /^call_/ } })
  await world.pool.query('alter table ops.away rename to call_claims')
  const made = await eventually('its holder frees it, without the end of its lease', async () => {
    const answered = await make(there, key)
    if (!isDomainError(answered)) return answered
    t.match(answered, { code: 'idempotency_in_progress' })
    return undefined
  })
  t.match(made, { callId: /^call_/ })
})

t.test('a settled call whose claim could not be ended is soon known as settled', async (t) => {
  const claims = createCallClaims({
    pool: world.pool,
    secret: 'a secret of the tests',
    logger: silentLog,
    crashPoint: noCrash,
    clock: systemClock,
    owner: 'away for a moment',
  })
  await world.pool.query(`insert into ops.workers values ('away for a moment', now())`)
  const request = { path: '/p', key: 'end', bodyHash: 'b' }
  const who = { tenantId: 'tenant_1' }
  const claim = await claims.take(who, request)
  await claim.settling(0)
  claim.settled()
  await world.pool.query('alter table ops.call_claims rename to away')
  t.notOk(await claim.keep({ status: 200, headers: {}, body: Buffer.from('x') }))
  await world.pool.query('alter table ops.away rename to call_claims')
  await eventually('it is over', async () => {
    const answered: unknown = await claims.take(who, request).catch((error: unknown) => error)
    return isDomainError(answered) && answered.code === 'idempotency_answer_not_kept'
      ? true
      : undefined
  })
})

t.test('a settlement that was certainly not written frees the key', async (t) => {
  const record = () => Promise.reject(new DomainError('log_unavailable', 'away', {}))
  const refusing = await world.text({ deps: { journal: { ...idleJournal, record } } })
  const refused = await make(refusing, 'unwritten')
  t.match(refused, { code: 'log_unavailable' })
  t.match(await make(here, 'unwritten'), { callId: /^call_/ })
})

t.test('a settlement of unknown outcome does not free the key', async (t) => {
  const record = () => Promise.reject(new DomainError('log_outcome_unknown', 'late', {}))
  const unsure = await world.text({ deps: { journal: { ...idleJournal, record } } })
  t.match(await make(unsure, 'unsure'), { code: 'log_outcome_unknown' })
  await endLeases()
  t.match(await make(here, 'unsure'), {
    code: 'idempotency_answer_not_kept',
    details: { callId: /^call_/ },
  })
})

t.test('a kept answer that cannot be decrypted counts as not kept', async (t) => {
  await make(here, 'damaged')
  await world.pool.query(`update ops.call_claims set answer = 'x' where answer is not null`)
  t.match(await make(there, 'damaged'), { code: 'idempotency_answer_not_kept' })
})

t.test('leases are renewed while they are held, and not after', async (t) => {
  const secondsLeft = async (): Promise<number> => {
    const { rows } = await world.pool.query<{ left: number }>(
      `select extract(epoch from lease_until - clock_timestamp())::float8 as left
       from ops.call_claims where call_id = 'call_renewed'`,
    )
    return rows[0]?.left ?? 0
  }
  await world.pool.query(
    `insert into ops.call_claims (claim_key, call_id, body_hash, lease_until, expires_at)
     values ('renewed', 'call_renewed', '', now(), now() + interval '1 day')`,
  )
  const renewal = createRenewal({ pool: world.pool, logger: silentLog }, 20)
  const [first, second] = [
    { claimKey: 'renewed', callId: 'call_renewed' },
    { claimKey: 'renewed', callId: 'call_of_another' },
  ]
  renewal.hold(second)
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.ok((await secondsLeft()) < 0, 'of another call: it is not ours to renew')
  renewal.hold(first)
  await eventually('renewed', async () => ((await secondsLeft()) > 50 ? true : undefined))
  renewal.drop(first)
  renewal.drop(second)
})

t.test('a lease from before the clock was set back blocks no caller', async (t) => {
  const calling = make(here, 'ahead', 'hello [[sandbox first-byte-ms=300]]')
  await sent('ahead')
  await world.pool.query(`update ops.call_claims set lease_until = now() + interval '1 hour'
                          where not may_be_settled`)
  t.match(await make(there, 'ahead'), { callId: /^call_/ })
  t.match(await calling, { code: 'idempotency_in_progress' }, 'and makes no second settlement')
})

t.test('expired keys are purged, unless their call is in flight', async (t) => {
  await world.pool.query('delete from ops.call_claims')
  for (const [key, leaseUntil, expiresAt] of [
    ['old', '-infinity', 'yesterday'],
    ['under way', new Date(Date.now() + 30_000).toISOString(), 'yesterday'],
    ['young', '-infinity', 'tomorrow'],
  ])
    await world.pool.query(
      `insert into ops.call_claims (claim_key, call_id, body_hash, lease_until, expires_at)
       values ($1, '', '', $2, $3)`,
      [key, leaseUntil, expiresAt],
    )
  await purgeCallClaims(world.pool)
  const { rows } = await world.pool.query<{ claim_key: string }>(
    'select claim_key from ops.call_claims order by claim_key',
  )
  t.same(
    rows.map(({ claim_key: key }) => key),
    ['under way', 'young'],
  )
})

t.test(
  'an answer beyond its tenant’s bytes is not kept, and its call is not repeated',
  async (t) => {
    const claims = createCallClaims({
      pool: world.pool,
      secret: 'a secret of the tests',
      owner: 'small',
      clock: systemClock,
      logger: silentLog,
      crashPoint: noCrash,
      maxKeptBytes: 3_000,
    })
    const small = await world.text({ deps: { claims } })
    const makeKept = async (key: string, sizeBytes: number) => {
      let claim: CallClaim | undefined
      const input = {
        ...textInput({ prompt: 'hello' }),
        ...keyedBy(key, (taken) => (claim = taken)),
      }
      try {
        await small.calls.complete(input)
      } catch (error) {
        return error
      }
      return claim?.keep({ status: 200, headers: {}, body: Buffer.alloc(sizeBytes) })
    }
    await world.pool.query('delete from ops.kept_answers')
    t.equal(await makeKept('kept-1', 2_000), true)
    t.equal(await makeKept('kept-2', 2_000), false, 'the surface says so')
    t.equal(await makeKept('kept-3', 100), true, 'a smaller one has room')
    t.ok((await makeKept('kept-1', 0)) instanceof RepeatedAnswer)
    t.match(await makeKept('kept-2', 0), { code: 'idempotency_answer_not_kept' })
    await world.pool.query(`update ops.kept_answers set hour = hour - interval '26 hours'`)
    t.equal(await makeKept('kept-4', 2_000), true, 'a day later')
    await purgeCallClaims(world.pool)
    const { rows } = await world.pool.query('select from ops.kept_answers')
    t.equal(rows.length, 1, 'what is older is purged')
  },
)
