import type { JSX } from 'preact'
import type { Services } from '../../api/kit/services.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { AdminScope } from '../../app/accounts/admin-scope.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { periodHref } from '../kit/href.ts'
import { FactsPanel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'

/** Voids of statements that wait for a second user, next to the proposals. */

export type WaitingVoids = PanelFacts<readonly WaitingVoid[]>

type WaitingVoid = Awaited<ReturnType<Services['accounts']['voids']['waiting']>>[number]

/** Voids of one page; more are not proposed at a time. */
const MAX_VOIDS = 100

const voidColumns = (clock: ZoneClock): readonly TableColumn<WaitingVoid>[] => [
  {
    name: 'proposed',
    cell: ({ voidProposal }) => (
      <Moment atMs={fromTimestamp(voidProposal.proposedAt)} clock={clock} />
    ),
  },
  {
    name: 'proposal',
    narrow: 'lead',
    cell: ({ closed }) => <a href={periodHref(closed)}>void {closed.statement}</a>,
  },
  { name: 'tenant', cell: ({ tenantId }) => tenantId },
  { name: 'month', cell: ({ closed }) => `${closed.month}, ${closed.currency}` },
  { name: 'reason', cell: ({ voidProposal }) => voidProposal.reason },
  {
    name: 'lapses',
    cell: ({ voidProposal }) => (
      <Moment atMs={fromTimestamp(voidProposal.expiresAt)} clock={clock} />
    ),
  },
]

/** Statements that may become void: their pages have the forms. */
export function Voids({
  of,
  clock,
}: {
  readonly of: WaitingVoids | undefined
  readonly clock: ZoneClock
}): JSX.Element | null {
  if (of === undefined || ('facts' in of && of.facts.length === 0)) return null
  return (
    <FactsPanel
      id="voids"
      title="Voids of statements"
      of={of}
      show={(rows) => (
        <Table
          label="Statements that are proposed to be void"
          columns={voidColumns(clock)}
          rows={rows}
          keyOf={({ tenantId, periodId }) => `${tenantId} ${periodId}`}
          empty=""
        />
      )}
    />
  )
}

/** Voids that wait; undefined for support, which sees no months. */
export async function readVoids(
  voids: Services['accounts']['voids'],
  token: Principal,
  scope: AdminScope,
): Promise<WaitingVoids | undefined> {
  if (token.role === 'support') return undefined
  return panelFacts(token, ['finance'], () => voids.waiting(scope, { limit: MAX_VOIDS }))
}
