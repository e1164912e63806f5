import { Client } from 'pg'
import t from 'tap'
import { acquireDatabase } from '../../../helpers/postgres.ts'

async function query(url: string, text: string): Promise<readonly unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

t.test('suites get separate databases on one server', async (t) => {
  const [first, second] = await Promise.all([acquireDatabase(), acquireDatabase()])
  t.teardown(() => second.drop())
  t.not(first.url, second.url)
  t.equal(new URL(first.url).hostname, new URL(second.url).hostname)
  await query(first.url, 'create table mine (id int)')
  await t.rejects(query(second.url, 'select * from mine'), { code: '42P01' })
  await first.drop()
  await t.rejects(query(first.url, 'select 1'), { code: '3D000' })
})

t.test('a template is migrated once and cloned, with its rows, for every suite', async (t) => {
  let migrations = 0
  const options = {
    templateKey: 'clone-test',
    migrate: async (url: string) => {
      migrations += 1
      await query(url, 'create table seeded as select 7 as n')
    },
  }
  const databases = await Promise.all([1, 2, 3].map(() => acquireDatabase(options)))
  t.teardown(() => Promise.all(databases.map((database) => database.drop())))
  const lasting = (process.env['TEST_DATABASE_URL'] ?? '') !== ''
  t.equal(migrations, lasting ? 3 : 1)
  for (const { url } of databases) {
    t.strictSame(await query(url, 'select n from seeded'), [{ n: 7 }])
  }
  const [one, other] = databases
  await query(one?.url ?? '', 'delete from seeded')
  t.strictSame(await query(other?.url ?? '', 'select n from seeded'), [{ n: 7 }])
})
