import { Pool } from 'pg'
import t from 'tap'
import { createTenantQueue, type Deciding } from '../../../src/app/spending/tenant-queue.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import type { Currency } from '../../../src/kernel/money.ts'
import { until } from '../../helpers/eventually.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'
import { codeOf } from '../support/world.ts'
import { captureLockWaits } from './support/lock-waits.ts'

interface Asked {
  readonly tenantId: string
  readonly currency: Currency
  readonly name: string
}

const database = await acquireDatabase()
const pool = new Pool({ connectionString: database.url, max: 4, pipeline: true })
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
await pool.query('create table passed (name text primary key)')

/** Asks for all at once; what each was told, which were decided one by one, and what is written. */
async function ask(tryAdmitAll: Deciding<Asked>['tryAdmitAll'], names: readonly string[]) {
  await pool.query('delete from passed')
  const decided: string[] = []
  const queue = createTenantQueue<Asked>(pool, {
    ...(tryAdmitAll === undefined ? {} : { tryAdmitAll }),
    decide: async (client, batch) => {
      // As every decision does: behind a lock that is not had it fails, and nothing is written.
      await client.query('select from passed')
      decided.push(...batch.map(({ name }) => name))
      const refusals = batch.map(({ name }) =>
        name === 'dear' ? new DomainError('insufficient_balance', 'too dear', {}) : undefined,
      )
      const left = batch.filter((_, index) => refusals[index] === undefined)
      const written = client.query('insert into passed select * from unnest($1::text[])', [
        left.map(({ name }) => name),
      ])
      return { refusals: written.then(() => refusals) }
    },
  })
  const codes = await Promise.all(
    names.map((name) => codeOf(queue({ tenantId: 'tenant_1', currency: 'CNY', name }))),
  )
  const { rows } = await pool.query<{ name: string }>('select name from passed order by name')
  return { codes, decided, written: rows.map(({ name }) => name) }
}

/** Lets all pass unless one of them is dear. */
const unlessDear: Deciding<Asked>['tryAdmitAll'] = (batch) => ({
  text: `with asked as (select unnest($1::text[]) as name),
         fit as (select bool_and(name <> 'dear') as passed from asked),
         done as (insert into passed select name from asked, fit where passed)
         select passed from fit`,
  values: [batch.map(({ name }) => name)],
})

t.test('requests that all pass are decided by one statement', async (t) => {
  t.same(await ask(unlessDear, ['a', 'b', 'c']), {
    codes: ['no error', 'no error', 'no error'],
    decided: [],
    written: ['a', 'b', 'c'],
  })
})

t.test('where not all pass, the statement has no effect and each is decided alone', async (t) => {
  // The first goes alone: the others come while it is decided.
  t.same(await ask(unlessDear, ['a', 'b', 'dear', 'c']), {
    codes: ['no error', 'no error', 'insufficient_balance', 'no error'],
    decided: ['b', 'dear', 'c'],
    written: ['a', 'b', 'c'],
  })
})

t.test('without a statement, each reservation is decided alone', async (t) => {
  t.same(await ask(() => undefined, ['a', 'dear']), {
    codes: ['no error', 'insufficient_balance'],
    decided: ['a', 'dear'],
    written: ['a'],
  })
})

t.test('a failed statement admits no request and delays none', async (t) => {
  const failing = { text: `insert into passed values ('a') returning 1 / 0` }
  t.same(await ask(() => failing, ['a', 'b']), {
    codes: ['database_unavailable', 'database_unavailable'],
    decided: [],
    written: [],
  })
  t.same((await ask(unlessDear, ['a'])).codes, ['no error'])
})

t.test('the bound on waiting for the lock covers a second wait', async (t) => {
  const other = await pool.connect()
  t.teardown(() => other.release())
  /** Takes four seconds, and then somebody else is quicker. */
  const slow = { text: 'select pg_sleep(4), false as passed' }
  const lockWaits = captureLockWaits(t)
  const asked = ask(() => slow, ['a'])
  await until(async () => {
    const { rowCount } = await other.query(
      `select from pg_locks where locktype = 'advisory' and granted
       and database = (select oid from pg_database where datname = current_database())`,
    )
    return rowCount === 1
  })
  const taken = other.query(
    'begin; select pg_advisory_xact_lock(7207002, hashtext($$tenant_1\nCNY$$))',
  )
  t.same((await asked).codes, ['database_unavailable'])
  const [first = 0, second = Infinity, ...more] = lockWaits()
  t.same(more, [], 'two transactions')
  t.ok(second === 1 || second <= first - 4_000, `${first} ms, then ${second} ms`)
  await taken
  await other.query('rollback')
})
