import type { Queryable } from '../../engine/queryable.ts'
import { accountsSql, type LedgerAccount } from './postings.ts'

/** Accounts by all that decides whether a month of them can be closed: a month has few such groups. */

/** Accounts of one currency; what they have in common stands in the place of each one's. */
export interface AccountGroup extends Omit<LedgerAccount, 'tenantId'> {
  /** The state of the close of the month that stands; null: it is open. */
  readonly state: string | null
  /** In the order of their characters. */
  readonly tenantIds: readonly string[]
}

type Row = Omit<AccountGroup, 'tenantIds' | 'openedAtMs' | 'billing'> & {
  readonly opened_at: Date
  /** Null: the billing details were never set. */
  readonly time_zone: string | null
  readonly grace_hours: number
  readonly tenants: string
}

/** How often details were set does not stand in groups. */
const SET_ONCE = 1

/**
 * The accounts of these tenants, or of all, by their state in a month. Those that are `apart` (`<currency> <tenant>`)
 * are one group each.
 */
export async function accountGroups(
  db: Queryable,
  {
    month,
    tenantIds,
    currency,
    apart,
  }: {
    readonly month: string
    readonly tenantIds: readonly string[] | undefined
    readonly currency: string | undefined
    readonly apart: readonly string[]
  },
): Promise<readonly AccountGroup[]> {
  // Tenants that were opened in the same month of every time zone are one group.
  const { rows } = await db.query<Row>({
    name: 'ledger.account_groups',
    text: `select b.currency,
            case when date_trunc('month', t.opened_at - interval '16 hours', 'UTC')
                    = date_trunc('month', t.opened_at + interval '16 hours', 'UTC')
                 then date_trunc('month', t.opened_at, 'UTC') + interval '14 days'
                 else t.opened_at end as opened_at,
            a.data ->> 'timeZone' as time_zone, (a.data ->> 'graceHours')::int as grace_hours,
            p.month as "lastMonth", c.state,
            string_agg(b.tenant_id, ' ' order by b.tenant_id collate "C") as tenants
     from ${accountsSql}
     left join statements.periods c on c.month = $1 and c.tenant_id = b.tenant_id
       and c.currency = b.currency and c.state <> 'voided'
     where ($2::text[] is null or b.tenant_id = any($2)) and ($3::text is null or b.currency = $3)
     group by 1, 2, 3, 4, 5, 6,
       case when b.currency || ' ' || b.tenant_id = any($4::text[]) then b.tenant_id end`,
    values: [month, tenantIds ?? null, currency ?? null, apart],
  })
  return rows.map(({ opened_at: openedAt, time_zone: timeZone, grace_hours, tenants, ...row }) => ({
    ...row,
    openedAtMs: openedAt.getTime(),
    billing: timeZone === null ? null : { timeZone, graceHours: grace_hours, revision: SET_ONCE },
    tenantIds: tenants.split(' '),
  }))
}
