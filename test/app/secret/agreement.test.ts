import { Pool } from 'pg'
import t from 'tap'
import {
  agreeOnSecret,
  MarkerSecretError,
  replaceSecret,
} from '../../../src/app/access/secret-agreement.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 4 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})

t.test('of several that start at once with different secrets, one has its way', async (t) => {
  const secrets = ['one', 'two', 'three', 'four']
  const tried = await Promise.allSettled(secrets.map((secret) => agreeOnSecret(pool, secret)))
  const winner = secrets[tried.findIndex(({ status }) => status === 'fulfilled')]
  t.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const secret of secrets)
    if (secret === winner) await t.resolves(agreeOnSecret(pool, secret), 'again and again')
    else await t.rejects(agreeOnSecret(pool, secret), MarkerSecretError)
})

t.test('it is replaced on purpose, and the stored row does not reveal it', async (t) => {
  t.equal(await replaceSecret(pool, 'a new secret'), true)
  t.equal(await replaceSecret(pool, 'a new secret'), false)
  await agreeOnSecret(pool, 'a new secret')
  await t.rejects(agreeOnSecret(pool, 'one'), /same[\s\S]*tollgate marker-secret replace/)
  const { rows } = await pool.query<{ row: string }>(
    'select s::text as row from ops.marker_secret s',
  )
  t.equal(rows.length, 1)
  t.notMatch(rows[0]?.row, /new secret/)
})
