import t from 'tap'
import { createLastUses, lastUsesOf } from '../../../src/app/accounts/last-uses.ts'
import { migrateOps } from '../../../src/app/migrations.ts'
import { testPool } from '../../projections/support/database.ts'

const MINUTE_MS = 60_000

t.test('the use of a token is written at once, then a minute later, then at the end', async (t) => {
  const pool = await testPool(t)
  await migrateOps(pool)
  let nowMs = Date.parse('2026-03-04T05:06:07.000Z')
  const beganMs = nowMs
  const clock = { nowMs: () => nowMs }
  const [here, there] = [createLastUses(pool, clock), createLastUses(pool, clock)]
  const known = async () => Object.fromEntries(await lastUsesOf(pool, ['tok_1', 'tok_2', 'none']))

  await here.write()
  t.same(await known(), {})
  here.used('tok_1')
  await here.write()
  t.same(await known(), { tok_1: beganMs })
  nowMs += MINUTE_MS - 1
  here.used('tok_1')
  here.used('tok_2')
  await here.write()
  t.same(await known(), { tok_1: beganMs, tok_2: nowMs }, 'not more than once a minute')
  await here.write({ all: true })
  t.same(await known(), { tok_1: nowMs, tok_2: nowMs }, 'a process that ends tells what is left')
  const latestMs = nowMs
  nowMs = beganMs
  there.used('tok_1')
  await there.write()
  t.same(await known(), { tok_1: latestMs, tok_2: latestMs }, 'the later use stays')
  nowMs = latestMs + MINUTE_MS
  there.used('tok_1')
  await there.write()
  t.match(await known(), { tok_1: nowMs })
})

t.test('uses that could not be written are written by the next attempt', async (t) => {
  const pool = await testPool(t)
  const nowMs = Date.parse('2026-03-04T05:06:07.000Z')
  const uses = createLastUses(pool, { nowMs: () => nowMs })
  uses.used('tok_1')
  await t.rejects(uses.write(), /token_uses/)
  await migrateOps(pool)
  await uses.write()
  t.equal((await lastUsesOf(pool, ['tok_1'])).get('tok_1'), nowMs)
})
