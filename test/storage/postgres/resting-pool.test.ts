import { Pool } from 'pg'
import t from 'tap'
import { createRest, restBetween } from '../../../src/storage/postgres/resting-pool.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'

const database = await acquireDatabase()
t.teardown(() => database.drop())

t.test('a pool lends one connection at a time, and rests before each', async (t) => {
  const pool = new Pool({ connectionString: database.url, max: 4 })
  t.teardown(() => pool.end())
  let lent = 0
  let rests = 0
  restBetween(pool, async () => {
    t.equal(lent, 0, 'nothing works meanwhile')
    await Promise.resolve()
    rests += 1
  })
  const work = async (): Promise<void> => {
    const client = await pool.connect()
    lent += 1
    t.equal(lent, 1)
    await client.query('select 1')
    lent -= 1
    client.release()
  }
  const refused = pool.query('select no_such_column').catch((error: unknown) => String(error))
  await Promise.all([work(), work(), work(), pool.query('select 1')])
  t.match(await refused, 'no_such_column')
  t.equal(rests, 5)
})

t.test('a connection that cannot be opened does not keep the others waiting', async (t) => {
  const pool = new Pool({ connectionString: 'postgres://127.0.0.1:1/none', max: 1 })
  t.teardown(() => pool.end())
  restBetween(pool, () => Promise.resolve())
  await t.rejects(pool.connect(), { code: 'ECONNREFUSED' })
  await t.rejects(pool.query('select 1'), { code: 'ECONNREFUSED' })
})

t.test('a rest is the longer the less of the machine is free', async (t) => {
  let nowMs = 0
  let busy = 1
  const rests: number[] = []
  const rest = createRest({
    busyShare: () => busy,
    clock: { nowMs: () => nowMs },
    pauseFor: async (ms) => {
      await Promise.resolve()
      rests.push(Math.round(ms))
      nowMs += ms
    },
  })
  nowMs += 20
  await rest()
  t.same(rests, [], 'short work needs none yet')
  nowMs += 20
  await rest()
  t.same(rests, [160], 'together with the work before it')
  await rest()
  t.same(rests, [160], 'a rest is no work')
  busy = 0.4
  nowMs += 100
  await rest()
  t.same(rests, [160, 200], 'half as long where other work has less of it')
  busy = 0.3
  nowMs += 100
  await rest()
  busy = 1
  nowMs += 30
  await rest()
  t.same(rests, [160, 200, 120], 'none on a calm machine, and none for the work before')
  nowMs += 60_000
  await rest()
  t.same(rests, [160, 200, 120, 5_000], 'after work that cannot be divided')
})
