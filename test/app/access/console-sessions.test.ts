import type { Pool, QueryConfig } from 'pg'
import t, { type Test } from 'tap'
import {
  createConsoleSessions,
  SESSION_IDLE_MS,
  SESSION_MAX_MS,
  SESSIONS_PER_TOKEN,
} from '../../../src/app/access/console-sessions.ts'
import type { Queryable } from '../../../projections/engine/queryable.ts'
import { migrateOps } from '../../../src/app/migrations.ts'
import { testPool } from '../../projections/support/database.ts'

const secretHash = 'a'.repeat(64)

async function sessionsIn(t: Test) {
  const pool = await testPool(t)
  await migrateOps(pool)
  return { pool, sessions: createConsoleSessions(pool) }
}

/** Lets a session have been opened, and seen last, so long ago. */
const age = (pool: Pool, openedMs: number, seenMs: number) =>
  pool.query(
    `update ops.console_sessions set opened_at = clock_timestamp() - $1 * interval '1 ms',
       last_seen_at = clock_timestamp() - $2 * interval '1 ms'`,
    [openedMs, seenMs],
  )
const rows = async (pool: Pool) =>
  (await pool.query('select * from ops.console_sessions order by opened_at')).rows

t.test('a session is found by its id until it is ended, and neither secret is kept', async (t) => {
  const { pool, sessions } = await sessionsIn(t)
  const [one, other] = [
    await sessions.open({ secretHash, tokenId: 'token_1' }),
    await sessions.open({ secretHash: 'b'.repeat(64), tokenId: 'token_2' }),
  ]
  t.equal((await sessions.find(one))?.secretHash, secretHash)
  t.equal((await sessions.find(other))?.secretHash, 'b'.repeat(64))
  t.not(one, other)
  t.notMatch(JSON.stringify(await rows(pool)), one, 'the id is in no column')
  for (const id of ['', 'tcs-', one.slice(0, -1), `${one}x`, one.toUpperCase(), "tcs-' or 1=1 --"])
    t.equal(await sessions.find(id), undefined, id)
  await sessions.end(one)
  t.equal(await sessions.find(one), undefined)
  await sessions.end(one)
  t.equal((await sessions.find(other))?.secretHash, 'b'.repeat(64))
})

t.test('it ends after half an hour without a request, and after twelve hours', async (t) => {
  const { pool, sessions } = await sessionsIn(t)
  const id = await sessions.open({ secretHash, tokenId: 'token_1' })
  await age(pool, SESSION_IDLE_MS, SESSION_IDLE_MS - 5_000)
  t.equal((await sessions.find(id))?.secretHash, secretHash, 'just in time')
  await age(pool, SESSION_IDLE_MS, SESSION_IDLE_MS)
  t.equal(await sessions.find(id), undefined, 'idle')
  await age(pool, SESSION_MAX_MS - 5_000, 0)
  t.equal((await sessions.find(id))?.secretHash, secretHash)
  await age(pool, SESSION_MAX_MS, 0)
  t.equal(await sessions.find(id), undefined, 'too long')
  t.equal((await rows(pool)).length, 1)
  await sessions.open({ secretHash, tokenId: 'token_1' })
  t.equal((await rows(pool)).length, 1, 'the next sign-in deletes those that have ended')
})

t.test('the time of the last request is written once a minute', async (t) => {
  const { pool, sessions } = await sessionsIn(t)
  const id = await sessions.open({ secretHash, tokenId: 'token_1' })
  const seenAt = async (): Promise<number> => (await rows(pool))[0].last_seen_at.getTime()
  const opened = await seenAt()
  await sessions.find(id)
  t.equal(await seenAt(), opened)
  await age(pool, 120_000, 61_000)
  const old = await seenAt()
  await sessions.find(id)
  t.ok((await seenAt()) - old > 50_000, 'it was written')
})

t.test('a session keeps the tenants that it may look at, each once', async (t) => {
  const { sessions } = await sessionsIn(t)
  const id = await sessions.open({ secretHash, tokenId: 'token_1' })
  const other = await sessions.open({ secretHash, tokenId: 'token_1' })
  t.same((await sessions.find(id))?.viewedTenants, [])
  for (const tenant of ['tenant_1', 'tenant_2', 'tenant_1']) await sessions.viewed(id, tenant)
  t.same((await sessions.find(id))?.viewedTenants, ['tenant_1', 'tenant_2'])
  t.same((await sessions.find(other))?.viewedTenants, [], 'of this session alone')
})

t.test('one more session of a token than its bound ends the oldest of that token', async (t) => {
  const { pool, sessions } = await sessionsIn(t)
  const other = await sessions.open({ secretHash, tokenId: 'token_2' })
  const first = await sessions.open({ secretHash, tokenId: 'token_1' })
  const second = await sessions.open({ secretHash, tokenId: 'token_1' })
  for (let open = 2; open < SESSIONS_PER_TOKEN; open += 1)
    await sessions.open({ secretHash, tokenId: 'token_1' })
  t.equal((await sessions.find(first))?.secretHash, secretHash, 'at the bound')
  await sessions.open({ secretHash, tokenId: 'token_1' })
  t.equal(await sessions.find(first), undefined)
  t.equal((await sessions.find(second))?.secretHash, secretHash)
  t.equal((await sessions.find(other))?.secretHash, secretHash)
  t.equal((await rows(pool)).length, SESSIONS_PER_TOKEN + 1)
})

t.test('no sign-in scans the sessions, however many there are', async (t) => {
  const { pool, sessions } = await sessionsIn(t)
  await pool.query(`insert into ops.console_sessions (id_hash, secret_hash, token_id)
    select md5(n::text), repeat('a', 64), 'token_' || n % 1000 from generate_series(1, 20000) as n`)
  await pool.query('analyze ops.console_sessions')
  const plans: string[] = []
  const explaining = {
    query: async (config: QueryConfig) => {
      if (!config.text.startsWith('insert')) {
        const { name: _name, ...asked } = config
        const { rows } = await pool.query<Record<string, string>>({
          ...asked,
          text: `explain ${config.text}`,
        })
        plans.push(rows.map((row) => Object.values(row).join()).join('\n'))
      }
      return pool.query(config)
    },
  }
  const id = await createConsoleSessions(explaining as Queryable).open({
    secretHash,
    tokenId: 'token_1',
  })
  t.equal((await sessions.find(id))?.secretHash, secretHash)
  t.equal(plans.length, 3)
  t.notMatch(plans.join('\n'), /Seq Scan/)
})
