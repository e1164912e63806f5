import type { PoolClient } from 'pg'
import { bigint, date, pico, quantity, text, time, type Column } from '../engine/column.ts'
import { table } from '../engine/table.ts'

/**
 * Sums of lines by time. A call's lines would change rows of three tables that no other call of the moment changes, so
 * the tables have the lines up to one of the chain (`chain.summed`), many at a time, and what is read adds the
 * lines after it: the figures are those of all lines at each moment.
 */

/**
 * No more lines than this are ever missing in the sums: readers read so many at most. The views have it, so that another
 * number is another version.
 */
export const MOST_UNSUMMED = 5_000

const factNames = ['currency', 'sku', 'unit', 'model', 'user_id', 'token_id', 'surface'] as const
const facts = factNames.join(', ')

/** Sums of a tenant's lines in a period, of those up to `chain.summed`; the view of the period has all. */
function periodTable<const Stretch extends string, Begins extends Column>(
  name: string,
  stretch: Stretch,
  begins: Begins,
) {
  const columns = {
    tenant_id: text(),
    ...({ [stretch]: begins } as { readonly [Name in Stretch]: Begins }),
    currency: text(),
    sku: text(),
    unit: text(),
    model: text(),
    user_id: text(),
    token_id: text(),
    surface: text(),
    /** Lines with number 1: summed over the SKUs of a result, this counts requests. */
    requests: bigint(),
    lines: bigint(),
    quantity: quantity(),
    amount: pico(),
  }
  return table(`ledger.summed_${name}`, {
    columns,
    key: ['tenant_id', stretch, ...factNames],
    storage: 'fillfactor = 70',
    view: `ledger.${name}`,
  })
}

/** Days of UTC. */
export const summedDays = periodTable('days', 'day', date())
/**
 * The days of any time zone can be put together from these: its clock is whole quarters from UTC. Whole
 * hours are there so that few rows are read for it.
 */
export const summedHours = periodTable('hours', 'hour', time())
export const summedQuarters = periodTable('quarters', 'quarter', time())

/** The column that says when a period begins, and the beginning of the one that a time is in. */
const periods = {
  quarters: {
    begins: 'quarter',
    of: (at: string) =>
      `date_trunc('hour', ${at}, 'UTC')
         + interval '15 minutes' * floor(extract(minute from ${at} at time zone 'UTC') / 15)`,
  },
  hours: { begins: 'hour', of: (at: string) => `date_trunc('hour', ${at}, 'UTC')` },
  days: { begins: 'day', of: (at: string) => `(${at} at time zone 'UTC')::date` },
} as const

/** Figures of a line; its result counts as a request by the first one. */
const ofLine = `(line_id = source_id || ':1')::int as requests, 1 as lines, quantity, amount`
const added = `sum(requests)::bigint as requests, sum(lines)::bigint as lines,
  sum(quantity)::numeric(38, 0) as quantity, sum(amount)::numeric(38, 12) as amount`

/**
 * The lines that the sums do not have, as a query; `tenant` is the placeholder of the one tenant that is asked for, whose
 * lines alone are then read. The limit cuts nothing off: it says how few rows there can be.
 */
export function unsummedSql(tenant?: string, schema = 'ledger.'): string {
  const after = `seq > (select summed from ${schema}chain)`
  return tenant === undefined
    ? `select * from ${schema}lines where ${after} order by seq limit ${MOST_UNSUMMED}`
    : `select * from ${schema}lines where tenant_id = ${tenant} and ${after}
         and settled_at >= (select unsummed_from from ${schema}chain)
       order by settled_at, seq limit ${MOST_UNSUMMED}`
}

/** Views of the sums of all lines. */
export const sumsViewsSql = Object.entries(periods)
  .map(([name, { begins, of }]) => {
    const key = `tenant_id, ${begins}, ${facts}`
    return `create view ${name} as select ${key}, ${added} from (
        select ${key}, requests, lines, quantity, amount from summed_${name}
        union all
        select tenant_id, ${of('settled_at')}, ${facts}, ${ofLine}
        from (${unsummedSql(undefined, '')}) l
      ) s group by ${key};`
  })
  .join('\n')

const addSql = `with quarters as materialized (
    select tenant_id, quarter, ${facts}, ${added}
    from (select tenant_id, ${periods.quarters.of('settled_at')} as quarter, ${facts}, ${ofLine}
          from lines where seq > $1 and seq <= $2) l
    group by tenant_id, quarter, ${facts}
  ), ${Object.entries(periods)
    .map(([name, { begins, of }]) => {
      const key = `tenant_id, ${begins}, ${facts}`
      return `to_${name} as (
        insert into summed_${name} as kept (${key}, requests, lines, quantity, amount)
        select tenant_id, ${of('quarter')}, ${facts}, ${added}
        from quarters group by tenant_id, 2, ${facts}
        on conflict (${key}) do update
        set requests = kept.requests + excluded.requests, lines = kept.lines + excluded.lines,
            quantity = kept.quantity + excluded.quantity, amount = kept.amount + excluded.amount)`
    })
    .join(', ')} select 1`

/** Adds the lines after one of the chain and up to another to the sums; `search_path` is their schema. */
export async function addToSums(client: PoolClient, after: bigint, through: bigint): Promise<void> {
  await client.query({ name: 'ledger.sums.add', text: addSql, values: [after, through] })
}

/**
 * Makes the tables of version 6, whose sums had all lines at each moment, those of this version. What was granted on a
 * table is granted on the view that has its name.
 */
export const sumsFromVersion6Sql = `
  ${Object.keys(periods)
    .map(
      (name) => `alter table ${name} rename to summed_${name};
        alter index ${name}_pkey rename to summed_${name}_pkey;`,
    )
    .join('\n')}
  alter table chain add column summed bigint not null default 0, add column unsummed_from timestamptz;
  update chain set summed = seq;
  alter table chain alter column summed drop default;
  ${sumsViewsSql}
  do $$
    declare found record;
    begin
      for found in
        select substr(c.relname, length('summed_') + 1) as name,
               case r.grantee when 0 then 'public' else r.grantee::regrole::text end as grantee
        from pg_class c, aclexplode(c.relacl) r
        where c.relnamespace = current_schema()::regnamespace and c.relname like 'summed\\_%'
          and c.relkind = 'r' and r.privilege_type = 'SELECT' and r.grantee <> c.relowner
      loop
        execute format('grant select on %I to %s', found.name, found.grantee);
      end loop;
    end $$;`
