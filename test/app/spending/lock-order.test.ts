import t, { type Test } from 'tap'
import { reportCalls, reportSpending } from '../../../src/app/spending/replica-reports.ts'
import { shareThrough } from '../../../src/app/spending/throttle/allowance.ts'
import { readTaskPlaces } from '../../../src/app/spending/throttle/concurrent-tasks.ts'
import { until } from '../../helpers/eventually.ts'
import { startBook } from '../calls/support/book.ts'

const { pool } = await startBook(t)

/** What is written for these names, in this order. */
type Write = (names: readonly string[]) => Promise<unknown>

interface Locked {
  readonly write: Write
  /** Locks what is written for `$1`, and fails where another session holds it. */
  readonly lock: string
}

const names = Array.from({ length: 40 }, (_, index) => `name-${String(index).padStart(2, '0')}`)

/**
 * Two sessions that write the same names in different orders wait for each other for ever, unless both lock in one order.
 * Here another session holds the name that is locked first; a writer that was given it last, and waits for it, may hold
 * no other.
 */
async function locksInOrder(t: Test, { write, lock }: Locked, order: readonly string[]) {
  await write(order)
  const [first = '', ...others] = order
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query(lock, [first])
  const writing = write([...order].reverse())
  await until(async () => {
    const { rows: waiting } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length > 0
  })
  for (const other of others) await t.resolves(holder.query(lock, [other]), `${other} is free`)
  await holder.query('rollback')
  holder.release()
  await t.resolves(writing)
}

const reporter = { replica: 'one' }
let turn = 0

t.test('reports of holds lock rows in the order of their names', (t) =>
  locksInOrder(
    t,
    {
      write: (all) =>
        reportSpending(
          pool,
          { ...reporter, turn: (turn += 1) },
          all.map((name) => ({
            name,
            unit: 'USD',
            held: 1n,
            settled: 0n,
            position: 0n,
            spool: undefined,
          })),
        ),
      lock: 'select 1 from ops.text_spending where tenant_id = $1 for update nowait',
    },
    names,
  ),
)

t.test('reports of calls in flight lock in the order of their holders', (t) =>
  locksInOrder(
    t,
    {
      write: (all) =>
        reportCalls(
          pool,
          { ...reporter, turn: 0 },
          all.map((name) => ({
            name,
            unit: 'calls',
            held: 1n,
            settled: 0n,
            position: undefined,
            spool: undefined,
          })),
        ),
      lock: 'select 1 from ops.calls_under_way where holder = $1 for update nowait',
    },
    names,
  ),
)

t.test('reports of rates lock in the order of their holders', (t) =>
  locksInOrder(
    t,
    {
      write: (all) =>
        shareThrough(pool)(
          all.map((holderId) => ({ holderId, measure: 'requests', perMinute: 60, used: 1 })),
        ),
      lock: 'select 1 from ops.rate_use where holder = $1 for update nowait',
    },
    names,
  ),
)

t.test('admissions of tasks lock holders in the order of their keys', async (t) => {
  const { rows } = await pool.query<{ name: string }>(
    'select name from unnest($1::text[]) as name order by hashtext(name)',
    [names],
  )
  const write: Write = async (all) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await readTaskPlaces(
        client,
        all.map((holderId) => ({
          platformId: `task-${holderId}`,
          tenantId: 'tenant',
          userId: 'user',
          tokenId: holderId,
          taskLimits: [{ whose: 'token', holderId, limit: 1 }],
        })),
      )
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
  const lock = `select 1 / pg_try_advisory_xact_lock(7207003, hashtext($1))::integer`
  await locksInOrder(
    t,
    { write, lock },
    rows.map(({ name }) => name),
  )
})
