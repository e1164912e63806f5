import type { Pool } from 'pg'
import { migrateEngine } from '../../../projections/engine/migrate.ts'
import { createIndexes } from '../../../projections/engine/schema.ts'
import { inSchema } from '../../../projections/engine/transaction.ts'
import { ledgerProjection } from '../../../projections/ledger/projection.ts'
import { MOST_UNSUMMED } from '../../../projections/ledger/sums.ts'
import { tasksProjection } from '../../../projections/tasks/projection.ts'
import { timelineProjection } from '../../../projections/timeline/projection.ts'

/** Rows of a long ledger and its timeline as their projections leave them, made by SQL: that many events take hours. */

export const FIRST_MS = Date.parse('2026-01-01T00:00:00Z')
export const DAYS = 90

/** How the calls are spread. */
export interface Spread {
  readonly days: number
  readonly tenants: number
  readonly usersOfEach: number
  readonly tokensOfEach: number
}

const manyTenants: Spread = { days: DAYS, tenants: 2_000, usersOfEach: 3, tokensOfEach: 3 }
/** A month of one large tenant. */
export const oneTenant: Spread = { days: 30, tenants: 1, usersOfEach: 50, tokensOfEach: 150 }
const LINES_A_CALL = 2
/** Calls that the sums by time do not have: half as many as there ever are. */
const UNSUMMED_CALLS = MOST_UNSUMMED / LINES_A_CALL / 2
/** Positions are byte offsets of a log: a call takes about so many. */
export const BYTES_A_CALL = 1_500

/** Evenly spread over 0 ≤ x < 1, the same in every run. */
const even = (salt: number): string =>
  `((hashint8(n * 31 + ${salt})::bigint & 1073741823) / 1073741824.0)::double precision`

/** The ten characters of a ULID that say its time. */
const ulidTime = [45, 40, 35, 30, 25, 20, 15, 10, 5, 0]
  .map((bits) => `substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (ms >> ${bits} & 31)::int + 1, 1)`)
  .join(' || ')

/**
 * Two-line calls, most with a tag. Of many tenants the first has 8 % of them, the middle one a two-thousandth; a thousandth is of a rare
 * model, and a quarter of the models is sold in USD.
 */
const callsSql = (calls: number, of: Spread): string => `
  create unlogged table calls as
  select n, n * ${BYTES_A_CALL} as position,
         to_timestamp(${FIRST_MS / 1000} + n * ${(of.days * 86_400) / calls}::double precision) as at,
         tenant, tenant || '_user_' || owner % ${of.usersOfEach} as usr,
         tenant || '_token_' || owner as token,
         case when model >= 9 then 'USD' else 'CNY' end as currency,
         case when model = 12 then 'model-rare' else 'model-' || model end as model,
         case when model % 3 = 0 then 'v1.responses' else 'v1.chat' end as surface,
         'call_' || ${ulidTime} || upper(left(md5('c' || n), 16)) as source,
         'req_' || ${ulidTime} || upper(left(md5('r' || n), 16)) as request
  from (select n, (${FIRST_MS} + n * ${(of.days * 86_400_000) / calls}::double precision)::bigint as ms, 'tenant_' || floor(${of.tenants} * ${even(1)} ^ 3) as tenant,
               -- A token is of one user.
               floor(${of.tokensOfEach} * ${even(3)} ^ 2)::int as owner,
               case when ${even(4)} < 0.001 then 12 else floor(12 * ${even(5)} ^ 2)::int end as model
        from generate_series(1::bigint, ${calls}) as n) as facts`

const lineSql = `
  insert into ledger.lines
    (seq, line_id, settled_at, tenant_id, user_id, token_id, source_id, native_id, surface, model, sku, rule,
     quantity, unit, price, per, currency, amount, price_book_version, measurement, request_id, position,
     account_prices, tags, hash)
  select 2 * n - 2 + k, source || ':' || k, at, tenant, usr, token, source, null, surface, model,
         model || case k when 1 then '-input-token' else '-output-token' end, 'text/1', 100 + n % 900, 'token',
         2.5, 1000000, currency, (100 + n % 900) * 0.0000025, '2026-01-01', 'reported', request, position, null,
         case when n % 4 <> 0 then '{"project":"p' || n % 20 || '"}' end,
         sha256(int8send(2 * n - 2 + k))
  from calls cross join generate_series(1, ${LINES_A_CALL}) as k order by n, k`

const perCallSql = [
  `insert into ledger.settlements (source_id, tenant_id, currency, amount, lines, position)
   select source, tenant, currency, (100 + n % 900) * 0.000005, ${LINES_A_CALL}, position from calls order by n`,
  `insert into ledger.entries (position, n, kind, source_id, tenant_id, currency, debit, credit, amount)
   select position, 1, 'settled', source, tenant, currency, 'receivable', 'revenue', (100 + n % 900) * 0.000005
   from calls order by n`,
  `insert into timeline.events
     (position, tenant_id, user_id, source_id, type, event_id, stream, revision, at, data, metadata)
   select position, tenant, usr, source, case when n % 100 = 1 then 'CallFailed' else 'CallSettled' end, md5('e' || n)::uuid, 'journal-' || n / 1000000, n % 1000000,
          at, json_build_object('callId', source, 'tenantId', tenant, 'userId', usr, 'tokenId', token, 'model', model,
            'requestId', request, 'surface', surface, 'channelId', 'channel', 'code', 'unavailable', 'message', 'no result',
            'startedAt', at, 'failedAt', at, 'settlement', repeat('x', 500)),
          json_build_object('schemaVersion', 1, 'correlationId', request, 'commandId', source)
   from calls order by n`,
  `insert into timeline.sources (source_id, tenant_id, user_id, native_id, position)
   select 'video_' || n, tenant, usr, 'cgt-' || n, position from calls where n % 50 = 0 order by n`,
]

const periods = {
  days: `(at at time zone 'UTC')::date`,
  hours: `date_bin('1 hour', at, timestamptz '2000-01-01T00:00Z')`,
  quarters: `date_bin('15 minutes', at, timestamptz '2000-01-01T00:00Z')`,
}

const periodSql = Object.entries(periods).map(
  ([table, begins]) => `
  insert into ledger.summed_${table}
  select tenant, ${begins}, currency, model || part, 'token', model, usr, token, surface,
         count(*) filter (where part = '-input-token'), count(*),
         sum(100 + n % 900), sum((100 + n % 900) * 0.0000025)
  from calls cross join (values ('-input-token'), ('-output-token')) as parts (part)
  where n <= (select max(n) from calls) - ${UNSUMMED_CALLS}
  group by 1, 2, 3, 4, 6, 7, 8, 9 order by 1, 2`,
)

const perTenantSql = [
  `insert into ledger.balances
     (tenant_id, currency, granted, adjusted, refunded, expired, credit_limit, settled, held, position)
   select tenant, currency, 1000000, 0, 0, 0, 0, sum((100 + n % 900) * 0.000005), 0, max(position)
   from calls group by 1, 2`,
  `insert into ledger.grants
     (position, grant_id, tenant_id, currency, amount, credit, reason, actor, granted_at)
   select -row_number() over (), 'grant_' || tenant_id || currency, tenant_id, currency, 1000000, 'paid', 'credit', 'finance',
          to_timestamp(${FIRST_MS / 1000}) from ledger.balances`,
  `insert into ledger.adjustments
     (position, adjustment_id, tenant_id, currency, amount, line_id, grant_id, reason, actor, posted_at)
   select position + 1, 'adj_' || n, tenant, currency, 0.0001, source || ':1', null, 'refund', 'finance', at
   from calls where n % 500 = 0`,
  `insert into ledger.holds
     (source_id, tenant_id, currency, amount, state, placed_at, closed_at, position)
   select 'video_' || n, tenant, currency, 1, case when n % 1000 = 0 then 'placed' else 'captured' end, at, at,
          position from calls where n % 50 = 0`,
]

const chainSql = `
  update ledger.chain set seq = last.seq, summed = last.seq - ${UNSUMMED_CALLS * LINES_A_CALL},
    unsummed_from = (select settled_at from ledger.lines
                     where seq = last.seq - ${UNSUMMED_CALLS * LINES_A_CALL} + 1)
  from (select max(seq) as seq from ledger.lines) as last`

/** Fills the tables of an empty database. */
export async function fillLedger(
  pool: Pool,
  lines: number,
  spread: Spread = manyTenants,
): Promise<void> {
  await migrateEngine(pool, [ledgerProjection, timelineProjection, tasksProjection])
  await pool.query(callsSql(Math.floor(lines / LINES_A_CALL), spread))
  for (const sql of [lineSql, ...perCallSql, ...periodSql, ...perTenantSql, chainSql])
    await pool.query(sql)
  for (const projection of [ledgerProjection, timelineProjection])
    await inSchema(pool, projection.name, (client) =>
      createIndexes(client, projection, projection.name),
    )
  await pool.query('vacuum (analyze)')
}

/** A line of a tenant, to ask for. */
export interface Line {
  readonly line_id: string
  readonly source_id: string
  readonly request_id: string
  readonly tenant_id: string
  readonly position: bigint
}

/** Finds the first line of a tenant from a day on. */
export async function lineOf(pool: Pool, tenantId: string, day: number): Promise<Line> {
  const { rows } = await pool.query<Omit<Line, 'position'> & { readonly position: string }>(
    `select line_id, source_id, request_id, tenant_id, position from ledger.lines
     where tenant_id = $1 and settled_at > to_timestamp($2) order by settled_at, seq limit 1`,
    [tenantId, FIRST_MS / 1_000 + day * 86_400],
  )
  const [row] = rows
  if (row === undefined) throw new Error(`${tenantId} has no line`)
  return { ...row, position: BigInt(row.position) }
}
