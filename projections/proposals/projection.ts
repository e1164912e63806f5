import {
  type AccountEvent,
  type AccountEventData,
  accountStream,
} from '../../src/domain/account/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { bigint, from, json, nullable, text, time } from '../engine/column.ts'
import { expectInOrder } from '../engine/passed-over.ts'
import { fromTables, rowsOf } from '../engine/read-model.ts'
import { table } from '../engine/table.ts'
import type { Projection } from '../engine/types.ts'

type Type = 'PostingProposed' | 'PostingApproved' | 'PostingRejected'
type ProposalEvent = Extract<AccountEvent, { readonly type: Type }>
type Recorded<T extends Type> = RecordedEvent<Extract<AccountEvent, { readonly type: T }>>
type Person = AccountEventData<'PostingApproved'>['by']

const proposed = ({ data, position }: Recorded<'PostingProposed'>) =>
  ({ ...data, state: 'proposed', position }) as const

const approved = ({ data, position }: Recorded<'PostingApproved'>) => {
  const { tenantId, proposalId, by: endedBy, approvedAt: endedAt } = data
  return { tenantId, proposalId, state: 'approved', endedAt, endedBy, position } as const
}

const rejected = ({ data, position }: Recorded<'PostingRejected'>) => {
  const { tenantId, proposalId, by: endedBy, rejectedAt: endedAt, reason } = data
  return { tenantId, proposalId, state: 'rejected', endedAt, endedBy, reason, position } as const
}

type End = ReturnType<typeof approved> | ReturnType<typeof rejected>

export const proposals = rowsOf<ProposalEvent>()({
  table: table('proposals.proposals', {
    columns: {
      tenant_id: text(),
      proposal_id: text(),
      posting: json<AccountEventData<'PostingProposed'>['posting']>(),
      /** Null: a shell. */
      proposed_by: nullable(from('by', json<Person>())),
      /** One that has lapsed is still `proposed`: only its time says so. */
      state: text<'proposed' | 'approved' | 'rejected'>(),
      proposed_at: time(),
      expires_at: time(),
      ended_at: nullable(time()),
      ended_by: nullable(json<Person>()),
      /** Why it was rejected. */
      reason: nullable(text()),
      position: bigint(),
    },
    key: ['tenant_id', 'proposal_id'],
    once: true,
    indexes: {
      listed: '(proposed_at, proposal_id)',
      tenant: '(tenant_id, proposed_at)',
      open: `(expires_at) where state = 'proposed'`,
    },
  }),
  stream: accountStream,
  of: ({ data }) => data.proposalId,
  begins: 'PostingProposed',
  sets: { PostingProposed: proposed, PostingApproved: approved, PostingRejected: rejected },
})

const end = proposals.table.merging('ended', [
  'state',
  'ended_at',
  'ended_by',
  'reason',
  'position',
])

/** Grants, adjustments and credit limits that wait, or waited, for the approval of a second user. */
export const proposalsProjection: Projection = {
  name: 'proposals',
  version: 2,
  ...fromTables(
    { proposals: proposals.table },
    { totals: `select state as name, count(*)::text as total from proposals group by state` },
  ),
  streamTables: [proposals.audit],
  handles: new Set(proposals.types),
  apply: async (client, batch) => {
    const rows: ReturnType<typeof proposed>[] = []
    const ends = new Map<string, End>()
    for (const event of batch)
      if (event.type === 'PostingProposed') {
        const { proposalId } = event.data
        expectInOrder(!ends.has(proposalId), `${proposalId} ended before it was made`)
        rows.push(proposed(event))
      } else if (event.type === 'PostingApproved') ends.set(event.data.proposalId, approved(event))
      else if (event.type === 'PostingRejected') ends.set(event.data.proposalId, rejected(event))
    await proposals.table.insert(client, rows)
    const found = await end(client, [...ends.values()])
    expectInOrder(found === ends.size, 'a proposal has ended that was never made')
  },
}
