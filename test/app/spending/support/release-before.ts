import type { Pool } from 'pg'

/**
 * A replica of the release before, as far as it shares figures: its statements as they were. It
 * runs beside the present ones during a rolling upgrade, so neither its statements nor its tables
 * may change here.
 */
export function replicaBefore(pool: Pool, replica: string) {
  let turn = 0
  return {
    /** Reports holds and settlements of a tenant or a budget. */
    tellSpending: async (told: {
      readonly name: string
      readonly held: string
      readonly settled: string
      readonly position: bigint
    }): Promise<void> => {
      await pool.query(
        `insert into ops.text_spending as s
             (tenant_id, currency, replica, held, settled, position, spool, turn, told_at)
           select tenant_id, currency, $1, held, settled, position, spool, $2, clock_timestamp()
           from unnest($3::text[], $4::text[], $5::numeric[], $6::numeric[], $7::bigint[], $8::text[])
             as t (tenant_id, currency, held, settled, position, spool)
           order by tenant_id, currency
           on conflict (tenant_id, currency, replica) do update
           set held = excluded.held, settled = excluded.settled, position = excluded.position,
               spool = excluded.spool, closed = null,
               turn = excluded.turn, told_at = excluded.told_at
           where s.turn < excluded.turn`,
        [
          replica,
          (turn += 1),
          [told.name],
          ['USD'],
          [told.held],
          [told.settled],
          [told.position],
          [null],
        ],
      )
    },
    /** What the other replicas hold and settled of a tenant, by a ledger that reached a position. */
    spokenFor: async (tenantId: string, position: bigint): Promise<string> => {
      const { rows } = await pool.query<{ amount: string }>(
        `with ledger as (select $1::text as tenant_id, 'USD' as currency, $2::bigint as position)
         select t.tenant_id, t.currency,
                    sum(case when not (abs(extract(epoch from clock_timestamp() - t.told_at))
                                         < $4::float8 / 1000)
                                  and t.closed <= l.position
                             then case when t.spool is null or t.position <= l.position
                                       then 0 else t.settled end
                             else t.held
                                  + case when t.position <= l.position then 0 else t.settled end
                        end)::text as amount
             from ops.text_spending t join ledger l using (tenant_id, currency)
             where t.replica <> $3
             group by t.tenant_id, t.currency`,
        [tenantId, position, replica, 30_000],
      )
      return rows[0]?.amount ?? '0'
    },
    /** What the others reported of a budget. */
    toldOfBudgets: async (key: string): Promise<readonly object[]> => {
      const { rows } = await pool.query<{ held: string; settled: string; position: string }>(
        `select currency, held::text, settled::text, position,
                  spool is not null as is_spooled,
                  case when abs(extract(epoch from clock_timestamp() - told_at))
                         < $3::float8 / 1000 then null else closed end as closed
           from ops.text_spending where tenant_id = $1 and replica <> $2`,
        [key, replica, 30_000],
      )
      return rows
    },
    /** Reports its calls in flight; those of all others. */
    shareCalls: async (holder: string, calls: number): Promise<number> => {
      const { rows } = await pool.query<{ calls: string }>(
        `with own as (
               select * from unnest($1::text[], $2::integer[]) as a (holder, calls)),
             told as (
               insert into ops.calls_under_way as c (holder, replica, calls, told_at)
               select holder, $3, calls, clock_timestamp() from own order by holder
               on conflict (holder, replica) do update set
                 calls = excluded.calls, told_at = excluded.told_at)
             select c.holder, sum(c.calls) as calls
             from own join ops.calls_under_way c using (holder)
             where c.replica <> $3
               and abs(extract(epoch from clock_timestamp() - c.told_at)) < $4::float8 / 1000
             group by c.holder`,
        [[holder], [calls], replica, 10_000],
      )
      return Number(rows[0]?.calls ?? 0)
    },
  }
}
