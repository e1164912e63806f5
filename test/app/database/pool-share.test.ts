import { Pool } from 'pg'
import t from 'tap'
import { inShareOf, shareFairly } from '../../../src/app/database/pool-share.ts'
import { createOwnRequests } from '../../../src/app/throttle/own-requests.ts'
import { allOver } from '../../../src/kernel/all-over.ts'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { acquireGatewayDatabase } from '../../helpers/gateway-database.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 8 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
const { perToken } = shareFairly(pool)

/** Work that a token asked for. */
const as = <Result>(tokenId: string, work: () => Promise<Result>): Promise<Result> =>
  new Promise((resolve, reject) => inShareOf(tokenId, () => void work().then(resolve, reject)))

void t.test('one token on 64 connections holds no more than its share of the pool', async (t) => {
  t.equal(perToken, 4)
  const noisy = Array.from({ length: 64 }, () =>
    as('noisy', () => pool.query('select pg_sleep(0.05)')),
  )
  let most = 0
  const state = { isOver: false }
  const done = allOver(noisy).finally(() => (state.isOver = true))
  while (!state.isOver) {
    // Another tenant's: it finds a connection however many the first one asks for.
    await as('quiet', () => pool.query('select 1'))
    most = Math.max(most, pool.totalCount - pool.idleCount)
    t.equal(pool.waitingCount, 0, 'none waits for the pool itself')
  }
  await done
  t.equal(most, perToken, 'exactly its share was in use')
})

void t.test('what fails or is given back twice leaves the share whole', async (t) => {
  for (let times = 0; times < 2 * perToken; times += 1) {
    await t.rejects(as('failing', () => pool.query('select nothing from nowhere')))
    await as('failing', async () => {
      const client = await pool.connect()
      client.release()
      t.throws(() => client.release())
    })
  }
  const clients = await as('failing', () => allOver([1, 2, 3, 4].map(() => pool.connect())))
  let hasFifth = false
  const fifth = as('failing', () => pool.connect()).then((client) => {
    hasFifth = true
    return client
  })
  const unbounded = await pool.connect()
  t.equal(hasFifth, false, 'a fifth waits; what no token asked for does not')
  unbounded.release()
  for (const client of clients) client.release()
  ;(await fifth).release()
})

void t.test('what starts nothing is counted by token, in memory', (t) => {
  const count = createOwnRequests(monotonicClock, 3)
  const noisy = { tokenId: 'noisy', kind: 'model' } as const
  for (let times = 0; times < 3; times += 1) count(noisy)
  t.throws(() => count(noisy), { code: 'rate_limited', details: { whose: 'token' } })
  count({ tokenId: 'quiet', kind: 'model' })
  count({ tokenId: 'noisy', kind: 'query' })
  t.end()
})
