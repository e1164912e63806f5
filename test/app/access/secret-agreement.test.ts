import { Pool } from 'pg'
import t from 'tap'
import {
  agreeOnSecret,
  MarkerSecretError,
  replaceSecret,
} from '../../../src/app/access/secret-agreement.ts'
import { keyedHash } from '../../../src/kernel/keyed-hash.ts'
import { acquireGatewayDatabase } from '../../helpers/postgres.ts'

const database = await acquireGatewayDatabase()
const pool = new Pool({ connectionString: database.url, max: 4 })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})

/** As long as a secret must be. */
const long = (text: string): string => text.padEnd(32, '.')

t.test('of processes that start at once with different secrets, one wins', async (t) => {
  const secrets = ['one', 'two', 'three', 'four'].map(long)
  const tried = await Promise.allSettled(secrets.map((secret) => agreeOnSecret(pool, secret)))
  const winner = secrets[tried.findIndex(({ status }) => status === 'fulfilled')]
  t.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
  for (const secret of secrets)
    if (secret === winner) await t.resolves(agreeOnSecret(pool, secret), 'again and again')
    else await t.rejects(agreeOnSecret(pool, secret), MarkerSecretError)
})

t.test('a secret is replaced on purpose, and its stored row does not reveal it', async (t) => {
  t.equal(await replaceSecret(pool, long('a new secret')), true)
  t.equal(await replaceSecret(pool, long('a new secret')), false)
  await agreeOnSecret(pool, long('a new secret'))
  await t.rejects(agreeOnSecret(pool, long('one')), /same[\s\S]*tollgate marker-secret replace/)
  const { rows } = await pool.query<{ row: string }>(
    'select s::text as row from ops.marker_secret s',
  )
  t.equal(rows.length, 1)
  t.notMatch(rows[0]?.row, /new secret/)
})

t.test('a short secret is refused, unless an earlier release recorded it', async (t) => {
  const short = await acquireGatewayDatabase()
  const db = new Pool({ connectionString: short.url, max: 1 })
  t.teardown(async () => {
    await db.end()
    await short.drop()
  })
  for (const secret of ['x', 'y'.repeat(31)])
    await t.rejects(agreeOnSecret(db, secret), /MARKER_SECRET has \d+ character.* openssl rand/)
  await t.rejects(replaceSecret(db, 'x'), MarkerSecretError)
  t.same((await db.query('select from ops.marker_secret')).rows, [])
  t.same(await agreeOnSecret(db, long('one')), { isShort: false })
  const fingerprint = keyedHash('x', 'fingerprint of the secret itself', []).toString('hex')
  await db.query('update ops.marker_secret set fingerprint = $1', [fingerprint])
  t.same(await agreeOnSecret(db, 'x'), { isShort: true })
})
