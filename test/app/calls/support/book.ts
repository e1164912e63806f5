import { Pool } from 'pg'
import type { Test } from 'tap'
import { migrateEngine } from '../../../../projections/engine/migrate.ts'
import { allProjections } from '../../../../projections/registry.ts'
import { createFunds, type Funds } from '../../../../src/app/spending/funds.ts'
import { createFreshness } from '../../../../src/app/spending/ledger-lag.ts'
import {
  createReplicaGauges,
  type ReplicaGauges,
} from '../../../../src/app/spending/replica-gauges.ts'
import { migrateOps } from '../../../../src/app/migrations.ts'
import { formatAmount, type Currency } from '../../../../src/kernel/money.ts'
import { acquireDatabase } from '../../../helpers/postgres.ts'

/** A ledger that says what a test wants and lags as it likes, for the funds of several replicas. */
interface Book {
  readonly pool: Pool
  readonly project: (balance: {
    readonly tenantId: string
    readonly creditPico: bigint
    readonly limitPico?: bigint
    readonly currency?: Currency
    /** Of the log: everything up to it is in the balance. */
    readonly position?: bigint
  }) => Promise<void>
  /** A separate process, with a clock that stands still until it is moved. */
  readonly replica: (options?: {
    readonly pool?: Pool
    readonly startMs?: number
    readonly maxTenants?: number
  }) => BookReplica
}

export interface BookReplica {
  readonly funds: Funds
  /** Reports and reads. */
  readonly exchange: ReplicaGauges['exchange']
  readonly pass: (ms: number) => void
  /** What the ledger lags from now on. */
  readonly lag: (ms: number) => void
}

export async function startBook(t: Test): Promise<Book> {
  const database = await acquireDatabase()
  const pool = new Pool({ connectionString: database.url, max: 12, pipeline: true })
  pool.on('error', () => undefined)
  await migrateEngine(pool, allProjections)
  await migrateOps(pool)
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  let replicas = 0
  return {
    pool,
    project: async ({ tenantId, creditPico, limitPico = 0n, currency = 'USD', position = 0n }) => {
      await pool.query(
        `insert into ledger.balances
           (tenant_id, currency, granted, credit_limit, position, adjusted, refunded, expired, settled, held)
         values ($1, $2, $3, $4, $5, 0, 0, 0, 0, 0)
         on conflict (tenant_id, currency)
         do update set granted = excluded.granted, position = excluded.position`,
        [tenantId, currency, formatAmount(creditPico), formatAmount(limitPico), position],
      )
      await pool.query(
        `update engine.checkpoints set commit = $1, prepare = $1 where name = 'ledger'`,
        [position],
      )
    },
    replica: (options = {}) => {
      let nowMs = options.startMs ?? 1_000_000
      let lagMs = 0
      const clock = { nowMs: () => nowMs }
      const own = options.pool ?? pool
      const replica = `replica-${(replicas += 1)}`
      const gauges = createReplicaGauges({ db: own, replica, clock })
      const funds = createFunds({
        pool: own,
        gauges,
        freshness: createFreshness({ lagMs: () => lagMs, look: () => Promise.resolve() }, clock),
        ...(options.maxTenants === undefined ? {} : { maxTenants: options.maxTenants }),
      })
      return {
        funds,
        exchange: gauges.exchange,
        pass: (ms) => void (nowMs += ms),
        lag: (ms) => void (lagMs = ms),
      }
    },
  }
}
