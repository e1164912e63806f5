import type { JSX } from 'preact'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import { readAccountPrices } from '../../api/admin/prices/tenants.ts'
import { readBalance } from '../../api/query/balance.ts'
import { readReceipt } from '../../api/query/receipts/route.ts'
import type { Principal } from '../../app/access/principal.ts'
import { type Person, type Posting, postingIdOf } from '../../domain/account/postings.ts'
import { isSettingChange } from '../../domain/account/setting-changes.ts'
import { isOperator } from '../../domain/token/events.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import { apiPath, findHref, lifeHref, lineHref, movementsHref, proposalIn } from '../kit/href.ts'
import { FactsPanel, type PanelFacts, panelFacts } from '../kit/panel.tsx'
import { Facts, Id, Money } from '../kit/values.tsx'
import { type ListPrices, termsOf } from './proposed.tsx'
import type { ConsoleServices, View } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** What a proposed posting rests on: the balance, the line that it refunds, and the posting that it became. */

type Receipt = Awaited<ReturnType<typeof readReceipt>>
type Names = Awaited<ReturnType<ConsoleServices['queries']['accounts']['names']>>['users']

export interface ProposalFacts {
  readonly row: ProposalRow
  /** The tenant's balance and credit limit in the currency of a posting: decimals. */
  readonly balance: PanelFacts<{ readonly balance: string; readonly limit: string }> | undefined
  /** The receipt of the line that a posting refunds; undefined where it refunds none. */
  readonly receipt: PanelFacts<Receipt> | undefined
  /** List prices, to compare proposed prices with. */
  readonly list: ListPrices | undefined
  /** Names of the users who proposed and decided it, by their keys; for operators alone. */
  readonly names: Names
}

/** The line that a posting refunds; undefined where it refunds none. */
function lineIdOf(posting: ProposalRow['posting']): string | undefined {
  if (posting.kind !== 'adjustment' || posting.corrects.kind !== 'line') return undefined
  return posting.corrects.lineId
}

/** Reads a proposal with everything that its page shows. @throws DomainError */
export async function readProposal(
  services: ConsoleServices,
  who: Principal,
  { id, token }: { readonly id: string; readonly token: Principal },
): Promise<ProposalFacts> {
  const { accounts, queries } = services
  const scope = adminScopeOfSession(token, 'Proposals')
  const row = await accounts.proposals.find(scope, proposalIn(id))
  const { tenantId, posting } = row
  const users = isOperator(token) ? [row.by ?? [], row.endedBy ?? []].flat() : []
  const names = await queries.accounts.names({ tenants: [], users, tokens: [] })
  const read = { row, names: names.users, balance: undefined, receipt: undefined, list: undefined }
  if (isSettingChange(posting)) {
    if (posting.kind !== 'prices') return read
    const list = await panelFacts(token, ['finance'], () =>
      readAccountPrices(accounts, scope, tenantId, true),
    )
    return { ...read, list }
  }
  const lineId = lineIdOf(posting)
  const asked = { tenant_id: tenantId, currency: posting.currency }
  const [balance, receipt] = await Promise.all([
    panelFacts(token, ['finance'], async () => {
      const { items } = await (await readBalance(services, who, asked)).page()
      const account = items[0]?.accounts[0]
      return { balance: account?.balance ?? '0', limit: account?.credit_limit ?? '0' }
    }),
    lineId === undefined
      ? undefined
      : panelFacts(token, ['finance', 'support'], () => readReceipt(queries.reads, who, lineId)),
  ])
  return { ...read, balance, receipt }
}

/** A person as a page names it: by name, and by id; a shell has none. */
export function personOf(by: Person | null, names: Names): string {
  if (by === null) return 'command line'
  const { tenantId, userId } = by
  const name = names.get(JSON.stringify([tenantId, userId]))
  return name === undefined ? `${userId} of ${tenantId}` : `${name} (${userId} of ${tenantId})`
}

/** The tenant's balance before and after the posting. */
function balanceFacts(posting: Posting, { row: { state }, balance }: ProposalFacts) {
  if (state !== 'proposed' || balance === undefined) return []
  if ('why' in balance) return [['balance', balance.why]] as const
  const { currency, amount } = posting
  const now = balance.facts
  if (posting.kind === 'limit')
    return [
      ['balance', <Money amount={now.balance} currency={currency} />],
      ['limit now', <Money amount={now.limit} currency={currency} />],
    ] as const
  const after = formatAmount(parseAmount(now.balance) + parseAmount(amount))
  return [
    ['balance before', <Money amount={now.balance} currency={currency} />],
    ['balance after', <Money amount={after} currency={currency} />],
  ] as const
}

/** Where the posting of an approved proposal stands; undefined where no page shows it. */
function postedHref({ tenantId, posting, endedAtMs }: ProposalRow): string | undefined {
  if (isSettingChange(posting) || posting.kind === 'limit' || endedAtMs === null) return undefined
  const lineId = lineIdOf(posting)
  if (lineId !== undefined) return `${lineHref(lineId)}#refunds`
  // Postings are dated by the command, which the proposal is too.
  const [from, to] = [toTimestamp(endedAtMs), toTimestamp(endedAtMs + 1_000)]
  return movementsHref({ tenant_id: tenantId, currency: posting.currency, from, to })
}

/** The terms of a posting, what they do to the balance, and the posting once it is made. */
export function postingFacts(posting: Posting, facts: ProposalFacts, token: Principal) {
  const { row } = facts
  const sees = token.role !== 'support'
  return [
    ['amount', <Money amount={posting.amount} currency={posting.currency} />],
    ...balanceFacts(posting, facts),
    ...termsOf(posting, sees),
    ...('reason' in posting ? [['reason', posting.reason] as const] : []),
    ...(row.state === 'approved'
      ? [
          [
            'posting',
            <Id id={postingIdOf(posting)} href={sees ? postedHref(row) : undefined} />,
          ] as const,
        ]
      : []),
  ] as const
}

/** The line that a refund is of: what it cost, what was given back, and what remains. */
export function RefundedLine({
  facts: { row, receipt: of },
  view: { token },
}: {
  readonly facts: ProposalFacts
  readonly view: View
}): JSX.Element | null {
  const { posting } = row
  const lineId = lineIdOf(posting)
  if (of === undefined || lineId === undefined || isSettingChange(posting)) return null
  return (
    <FactsPanel
      id="line"
      title="The line"
      of={of}
      show={(receipt) => {
        const line = receipt.lines.find(({ line_id: id }) => id === lineId)
        if (line === undefined) return <p class="note">The receipt has no such line.</p>
        const from = apiPath(`/receipts/${encodeURIComponent(lineId)}`)
        const money = (pico: bigint, of?: string) => (
          <Money amount={formatAmount(pico)} currency={posting.currency} from={of} />
        )
        const left = parseAmount(line.amount) - parseAmount(line.adjusted)
        const isOpen = row.state === 'proposed'
        return (
          <Facts
            facts={[
              [
                'line',
                <Id id={lineId} href={token.role === 'support' ? undefined : lineHref(lineId)} />,
              ],
              ['life', <Id id={receipt.id} href={lifeHref(receipt.id)} />],
              ['SKU', line.sku],
              ['model', receipt.model],
              ['user', receipt.user_id],
              [
                'request',
                <Id id={receipt.request_id} href={findHref({ q: receipt.request_id })} />,
              ],
              ['it cost', money(parseAmount(line.amount), from)],
              ['given back', money(parseAmount(line.adjusted), from)],
              ['remains', money(left)],
              ...(isOpen
                ? [['remains after approval', money(left - parseAmount(posting.amount))] as const]
                : []),
            ]}
          />
        )
      }}
    />
  )
}
