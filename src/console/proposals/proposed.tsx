import type { JSX } from 'preact'
import type { ProposalRow } from '../../../projections/proposals/query.ts'
import type { readAccountPrices } from '../../api/admin/prices/tenants.ts'
import type { Posting } from '../../domain/account/postings.ts'
import {
  type ApprovalChange,
  isSettingChange,
  limitChanges,
  ownPriceChanges,
  type PriceChange,
  type SettingChange,
} from '../../domain/account/setting-changes.ts'
import { adminPath, findHref, lineHref } from '../kit/href.ts'
import type { PanelFacts } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Facts, Id, Money } from '../kit/values.tsx'
import { FirstRows, PriceOf } from '../kit/prices.tsx'

/** Shows the user who approves a proposal everything that it would post or set. */

/** Names the kind of a proposal. */
export function kindOf({ posting }: ProposalRow): string {
  if (posting.kind === 'grant') return 'credit'
  if (posting.kind === 'limit') return 'credit limit'
  if (posting.kind === 'prices') return 'prices'
  if (posting.kind === 'approvals') return 'approvals'
  return posting.corrects.kind === 'line' ? 'refund of a line' : 'correction of a grant'
}

/** Describes the effect of an approval. */
export function effectOf({ posting, tenantId }: ProposalRow): string {
  if (isSettingChange(posting))
    return `It replaces the ${posting.kind} of ${tenantId}, if their revision is still ${posting.basis}`
  const { amount, currency } = posting
  return posting.kind === 'limit'
    ? `It lets the balance of ${tenantId} go ${posting.limit} ${currency} below zero`
    : `It posts ${amount} ${currency} to ${tenantId}`
}

/** Every term of the posting, for the user who approves it; lines are linked for those who see the ledger. */
export function termsOf(posting: Posting, seesLedger: boolean) {
  if (posting.kind === 'grant')
    return [
      ['credit', posting.credit ?? 'paid'],
      ['reference', posting.reference ?? 'none'],
      ['grant', <Id id={posting.grantId} />],
    ] as const
  if (posting.kind === 'limit') {
    const { limitId, currency, limit, before } = posting
    return [
      ['limit when it was proposed', <Money amount={before} currency={currency} />],
      ['limit after', <Money amount={limit} currency={currency} />],
      ['limit id', <Id id={limitId} />],
    ] as const
  }
  const { corrects, code } = posting
  return [
    corrects.kind === 'line'
      ? ([
          'refunds the line',
          <Id id={corrects.lineId} href={seesLedger ? lineHref(corrects.lineId) : undefined} />,
        ] as const)
      : ([
          'corrects the grant',
          <Id id={corrects.grantId} href={findHref({ q: corrects.grantId })} />,
        ] as const),
    ['code', code ?? 'none'],
    ['adjustment', <Id id={posting.adjustmentId} />],
  ] as const
}

/** List prices in the shape of the API, to compare a tenant's prices with. */
export type ListPrices = PanelFacts<
  Pick<Awaited<ReturnType<typeof readAccountPrices>>, 'price_book_version' | 'prices'>
>

/** Both sides of a change of a setting. */
export function ChangeTables({
  row: { tenantId, proposalId },
  change,
  list,
}: {
  readonly row: ProposalRow
  readonly change: SettingChange
  readonly list: ListPrices | undefined
}): JSX.Element {
  if (change.kind === 'approvals') return <Limits change={change} />
  const path = `/tenants/${encodeURIComponent(tenantId)}/proposals/${encodeURIComponent(proposalId)}`
  return <Prices change={change} list={list} from={adminPath(path)} />
}

type LimitChange = ReturnType<typeof limitChanges>[number]

const limitOf = (above: string | undefined, currency: LimitChange['currency']) =>
  above === undefined ? 'no limit' : <Money amount={above} currency={currency} />

const limitColumns: readonly TableColumn<LimitChange>[] = [
  { name: 'currency', narrow: 'lead', cell: ({ currency }) => currency },
  {
    name: 'limit now',
    right: true,
    cell: ({ currency, before }) => limitOf(before, currency),
  },
  {
    name: 'limit after',
    right: true,
    cell: ({ currency, after }) => limitOf(after, currency),
  },
]

function Limits({ change }: { readonly change: ApprovalChange }): JSX.Element {
  const { before, after } = change
  return (
    <>
      <Facts
        facts={[
          ['proposals lapse after (now)', `${before.lapseHours} h`],
          ['proposals lapse after (proposed)', `${after.lapseHours} h`],
        ]}
      />
      <Table
        label="Limits for one person in 24 hours"
        columns={limitColumns}
        rows={limitChanges(change)}
        keyOf={({ currency }) => currency}
        empty="No currency has a limit, now or after."
      />
    </>
  )
}

type OwnPrice = ReturnType<typeof ownPriceChanges>[number]

const byList = (multiplier: string | undefined): string =>
  multiplier === undefined ? 'list price' : `list price × ${multiplier}`

function Prices({
  change,
  list,
  from,
}: {
  readonly change: PriceChange
  readonly list: ListPrices | undefined
  readonly from: string
}): JSX.Element {
  const { before, after } = change
  const known = list !== undefined && 'facts' in list ? list.facts : undefined
  const priceOf = (price: OwnPrice['after'], multiplier: string | undefined) =>
    price === undefined ? byList(multiplier) : <PriceOf of={price} from={from} />
  const columns: readonly TableColumn<OwnPrice>[] = [
    { name: 'SKU', narrow: 'lead', cell: ({ sku }) => sku },
    { name: 'currency', cell: ({ currency }) => currency },
    {
      name: 'list price now',
      right: true,
      cell: ({ sku, currency }) => {
        const of = known?.prices.find((one) => one.sku === sku && one.currency === currency)?.list
        return of ? <PriceOf of={{ ...of, currency }} from={from} /> : 'none'
      },
    },
    { name: 'before', right: true, cell: (own) => priceOf(own.before, before.multiplier) },
    { name: 'after', right: true, cell: (own) => priceOf(own.after, after.multiplier) },
  ]
  return (
    <>
      <Facts
        facts={[
          ['multiplier when it was proposed', before.multiplier ?? 'none'],
          ['multiplier after', after.multiplier ?? 'none'],
          ['list in effect', known?.price_book_version ?? 'unknown'],
        ]}
      />
      {list !== undefined && 'why' in list ? <p class="note">{list.why}</p> : null}
      <FirstRows
        from={from}
        label="Own prices that change"
        columns={columns}
        rows={ownPriceChanges(change)}
        keyOf={({ sku, currency }) => `${sku} ${currency}`}
        empty="No own price of a SKU changes."
      />
    </>
  )
}
