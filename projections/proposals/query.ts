import { reader, type StoredRow } from '../engine/column.ts'
import type { Queryable } from '../engine/queryable.ts'
import { proposals } from './projection.ts'

const { position: _position, state: _state, ...shown } = proposals.table.record.columns

/** The states of a proposal; `lapsed`: its time is over, which no event says. */
export const proposalStates = ['proposed', 'approved', 'rejected', 'lapsed'] as const
export type ProposalState = (typeof proposalStates)[number]

export type ProposalRow = StoredRow<typeof shown> & { readonly state: ProposalState }

const toProposal = reader(shown, null)

/** The state at a time, `$3` in Unix milliseconds. */
const stateSql = `case when state = 'proposed' and expires_at <= to_timestamp($3::bigint / 1000.0)
                       then 'lapsed' else state end`

/**
 * Proposals of a tenant, or of all without one, in one state or any as of a time, newest first; a
 * page after the id of one of them. After any other id there are none, whether or not it exists (P8).
 */
export async function listProposals(
  db: Queryable,
  page: {
    readonly tenantId?: string | undefined
    readonly state?: ProposalState | undefined
    readonly nowMs: number
    readonly after?: string | undefined
    readonly limit: number
  },
): Promise<readonly ProposalRow[]> {
  const { rows } = await db.query<{ readonly state_now: ProposalState }>({
    name: 'proposals.list',
    text: `select *, ${stateSql} as state_now from proposals.proposals
           where ($1::text is null or tenant_id = $1)
             and ($2::text is null or ${stateSql} = $2)
             and ($4::text is null
                  or (proposed_at, proposal_id) <
                     (select a.proposed_at, a.proposal_id from proposals.proposals a
                      where a.proposal_id = $4 and ($1::text is null or a.tenant_id = $1)))
           order by proposed_at desc, proposal_id desc limit $5`,
    values: [page.tenantId ?? null, page.state ?? null, page.nowMs, page.after ?? null, page.limit],
  })
  return rows.map((row) => ({ ...toProposal(row), state: row.state_now }))
}

/** Counts the proposals of other users that wait for an approval, of all tenants, up to a bound. */
export async function countToDecide(
  db: Queryable,
  {
    tenantId,
    userId,
    nowMs,
    atMost,
  }: {
    /** The user who would decide them. */
    readonly tenantId: string
    readonly userId: string
    readonly nowMs: number
    readonly atMost: number
  },
): Promise<number> {
  const { rows } = await db.query<{ count: number }>({
    name: 'proposals.to_decide',
    text: `select count(*)::int as count from (
             select from proposals.proposals
             where state = 'proposed' and expires_at > to_timestamp($3::bigint / 1000.0)
               and (proposed_by is null
                    or (proposed_by ->> 'tenantId', proposed_by ->> 'userId') <> ($1, $2))
             limit $4) found`,
    values: [tenantId, userId, nowMs, atMost],
  })
  return rows[0]?.count ?? 0
}

/** Grants and adjustments that wait for an approval, by account; of all tenants without a list of them. */
export async function countOpenProposals(
  db: Queryable,
  {
    tenantIds,
    nowMs,
  }: { readonly tenantIds: readonly string[] | undefined; readonly nowMs: number },
): Promise<
  readonly { readonly tenantId: string; readonly currency: string; readonly count: number }[]
> {
  const { rows } = await db.query<{ tenantId: string; currency: string; count: string }>(
    `select tenant_id as "tenantId", posting ->> 'currency' as currency, count(*) as count
     from proposals.proposals
     where state = 'proposed' and expires_at > to_timestamp($2::bigint / 1000.0)
       and posting ->> 'kind' in ('grant', 'adjustment')
       and ($1::text[] is null or tenant_id = any($1))
     group by 1, 2`,
    [tenantIds ?? null, nowMs],
  )
  return rows.map(({ count, ...row }) => ({ ...row, count: Number(count) }))
}

/** Proposals by their ids, each of its tenant; one that is not there is not in it. */
export async function proposersOf(
  db: Queryable,
  proposals: readonly { readonly tenantId: string; readonly proposalId: string }[],
): Promise<ReadonlyMap<string, { readonly userId: string | null }>> {
  if (proposals.length === 0) return new Map()
  const { rows } = await db.query<{ proposal_id: string; user_id: string | null }>({
    name: 'proposals.proposers',
    text: `select p.proposal_id, p.proposed_by ->> 'userId' as user_id
           from unnest($1::text[], $2::text[]) as w (tenant_id, proposal_id)
           join proposals.proposals p
             on p.tenant_id = w.tenant_id and p.proposal_id = w.proposal_id`,
    values: [
      proposals.map(({ tenantId }) => tenantId),
      proposals.map(({ proposalId }) => proposalId),
    ],
  })
  return new Map(rows.map((row) => [row.proposal_id, { userId: row.user_id }]))
}
