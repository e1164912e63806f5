import { Pool } from 'pg'
import type { Test } from 'tap'
import { createLeases, type Leases, type LeaseQuery } from '../../../../src/app/queue/leases.ts'
import { leaseRows, type LeaseTerms, type WorkTable } from '../../../../src/app/queue/tables.ts'
import { workerMigrations } from '../../../../src/app/queue/presence.ts'
import { migrate } from '../../../../src/storage/postgres/migrate.ts'
import { acquireDatabase } from '../../../helpers/postgres.ts'

/** A table of leased work that belongs to no part of the gateway. */
export const work: WorkTable<'first_at_ms' | 'last_at_ms'> = {
  name: 'work.jobs',
  id: 'job_id',
  lane: 'lane',
  notes: { first_at_ms: 'first', last_at_ms: 'last' },
}

export interface Job {
  readonly id: string
  readonly attempts: number
  readonly leasedUntilMs: number
}

export type JobLease = LeaseTerms & { readonly lane: string }

/** Leases what is due of a lane, the longest due first. */
export async function leaseJobs(db: Pool, lease: JobLease): Promise<readonly Job[]> {
  const due = {
    text: `select job_id from work.jobs where lane = $5 and due_at_ms <= $2
           order by due_at_ms limit $4 for update skip locked`,
    values: [lease.lane],
  }
  const rows = await leaseRows<Job>(db, work, lease, due, 'p.job_id as id, p.attempts')
  return rows.map((row) => ({ ...row, leasedUntilMs: lease.nowMs + lease.leaseMs }))
}

export const LEASE_MS = 120_000

/** The leases of one worker; `lease` is what Postgres is asked by. */
export function leasesOf(
  pool: Pool,
  owner: string,
  lease: typeof leaseJobs = leaseJobs,
): Leases<Job, LeaseQuery, 'first_at_ms' | 'last_at_ms'> {
  const idOf = ({ id }: Job) => id
  return createLeases(pool, { table: work, owner, lane: 'a', leaseMs: LEASE_MS, lease, idOf })
}

export interface JobRow {
  readonly due_at_ms: number
  readonly attempts: number
  readonly lease_owner: string | null
}

/** A database with that table, and these jobs of the lane `a`, due at their times. */
export async function startWork(t: Test, jobs: Readonly<Record<string, number>> = {}) {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 8 })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  await migrate(pool, [workerMigrations])
  await pool.query(`
    create schema work;
    create table work.jobs (
      job_id text primary key, lane text not null, due_at_ms bigint not null,
      attempts int not null default 0, lease_owner text, first_at_ms bigint, last_at_ms bigint);`)
  const add = (id: string, dueAtMs: number, lane = 'a') =>
    pool.query('insert into work.jobs (job_id, lane, due_at_ms) values ($1, $2, $3)', [
      id,
      lane,
      dueAtMs,
    ])
  for (const [id, dueAtMs] of Object.entries(jobs)) await add(id, dueAtMs)
  const row = async (id: string): Promise<JobRow | undefined> => {
    const { rows } = await pool.query<JobRow>(
      `select due_at_ms::float8 as due_at_ms, attempts, lease_owner, first_at_ms::float8 as first_at_ms,
              last_at_ms::float8 as last_at_ms from work.jobs where job_id = $1`,
      [id],
    )
    return rows[0]
  }
  /** Locks a job as a projection does that moves it; returns what ends that. */
  const lock = async (id: string): Promise<() => Promise<void>> => {
    const client = await pool.connect()
    await client.query('begin')
    await client.query('select from work.jobs where job_id = $1 for update', [id])
    return async () => {
      await client.query('commit')
      client.release()
    }
  }
  return { pool, add, row, lock }
}
