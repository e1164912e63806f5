import t from 'tap'
import { nextKeys } from '../../../projections/engine/audited-rows.ts'
import { testPool } from '../support/database.ts'

t.test('a page of keys has each key once, however many rows it has', async (t) => {
  const pool = await testPool(t, 2)
  await pool.query('create table of_many (owner text, position bigint)')
  await pool.query(`insert into of_many select 'a', n from generate_series(1, 100) as n`)
  await pool.query(`insert into of_many values ('b', 101), ('c', 102), ('c', 103)`)
  const columns = [{ table: 'of_many', column: 'owner' }]
  t.same(await nextKeys(pool, columns, { after: '', limit: 2 }), ['a', 'b'])
  t.same(await nextKeys(pool, columns, { after: 'b', limit: 2 }), ['c'])
})
