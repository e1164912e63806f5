import { Pool } from 'pg'
import t from 'tap'
import { createBatchedWriter } from '../../../src/storage/postgres/batched-writes.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'

t.test('items share statements; a failing one fails its statement and no later one', async (t) => {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 2, pipeline: true })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  await pool.query('create table numbers (n int primary key)')
  const sizes: number[] = []
  const write = createBatchedWriter<number>(pool, (numbers) => {
    sizes.push(numbers.length)
    return { text: 'insert into numbers select * from unnest($1::int[])', values: [numbers] }
  })
  const stored = async (): Promise<number> =>
    (await pool.query<{ n: number }>('select count(*)::int as n from numbers')).rows[0]?.n ?? 0

  await Promise.all(Array.from({ length: 1_500 }, (_none, n) => write(n)))
  t.same(sizes, [1_000, 500])
  t.equal(await stored(), 1_500, 'there once it is said to be')

  const failing = await Promise.allSettled([write(2_000), write(1)])
  t.same(
    failing.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  t.equal(await stored(), 1_500, 'nothing of the batch')
  await write(2_000)
  t.equal(await stored(), 1_501)
})
