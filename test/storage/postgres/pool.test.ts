import { Pool } from 'pg'
import t from 'tap'
import { surviveLostConnections } from '../../../src/storage/postgres/pool.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'

t.test('a connection lost between two queries ends no other and not the process', async (t) => {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 2 })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  surviveLostConnections(pool, () => undefined)
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await ended
  await t.rejects(client.query('select 1'), 'the next query says so')
  client.release(true)
  t.match(await pool.query('select 1 as one'), { rows: [{ one: 1 }] })
})

t.test('a lost idle connection is logged', async (t) => {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 2 })
  const others = new Pool({ connectionString: database.url, max: 1 })
  t.teardown(async () => {
    await Promise.all([pool.end(), others.end()])
    await database.drop()
  })
  const lost = new Promise<Error>((resolve) => surviveLostConnections(pool, resolve))
  const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  await others.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  t.match((await lost).message, /terminating connection/)
})
