import type { ComponentChildren, JSX } from 'preact'
import { fromTimestamp } from '../../kernel/clock.ts'
import { type Account, type Budget, THIS_MONTH, type TileFacts } from './balance-facts.ts'
import { activityHref, adminPath, apiPath, summaryHref } from './href.ts'
import { Facts, grouped, Money, mostDecimals, Moment, type ZoneClock } from './values.tsx'

/** Balances of a tenant as tiles: each says how its figure adds up, and how the month goes. */

const isZero = (amount: string): boolean => !/[1-9]/.test(amount)

/** An amount without its sign, and the sign that it counts with. */
interface Part {
  readonly name: string
  readonly sign: '+' | '−'
  readonly amount: string
}

function partOf(name: string, amount: string | null, counts: 1 | -1): readonly Part[] {
  if (amount === null || isZero(amount)) return []
  const isNegative = amount.startsWith('-')
  const sign = isNegative === (counts === -1) ? '+' : '−'
  return [{ name, sign, amount: isNegative ? amount.slice(1) : amount }]
}

/** The parts of a balance that are not zero: with their signs they add up to it. */
export function partsOf(account: Account): readonly Part[] {
  return [
    ...partOf('granted', account.granted, 1),
    ...partOf('corrected grants', account.adjusted_grants, 1),
    ...partOf('credit limit', account.credit_limit, 1),
    ...partOf('settled', account.settled, -1),
    ...partOf('refunded', account.adjusted_usage, 1),
    ...partOf('held', account.held, -1),
  ]
}

function Parts({ account, from }: { readonly account: Account; readonly from: string }) {
  const parts = partsOf(account)
  if (parts.length === 0) return null
  const decimals = mostDecimals(parts.map(({ amount }) => amount))
  return (
    <table class="parts" aria-label={`How the ${account.currency} add up`}>
      <tbody>
        {parts.map(({ name, sign, amount }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="right">
              <span class="sign">{sign}</span>{' '}
              <Money amount={amount} from={from} decimals={decimals} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The share of a budget that is spent, as a bar; the words next to it have the figures. */
function Gauge({ budget: { spent, hard, soft, soft_reached: isReached } }: { budget: Budget }) {
  const most = Number(hard ?? soft ?? 0)
  const share = most <= 0 ? 1 : Math.min(1, Math.max(0, Number(spent) / most))
  const tone = share >= 1 ? 'bad' : isReached ? 'warn' : 'good'
  return (
    <svg class="gauge" height="6" aria-hidden="true" focusable="false">
      <rect class="track" width="100%" height="6" rx="3" />
      <rect class={tone} width={`${(share * 100).toFixed(2)}%`} height="6" rx="3" />
    </svg>
  )
}

function BudgetUse({ budget, from }: { readonly budget: Budget; readonly from: string }) {
  const { spent, hard, soft, left, currency, soft_reached: isReached } = budget
  const isOver = left !== null && Number(left) <= 0
  const most = hard ?? soft ?? '0'
  return (
    <>
      <Money amount={spent} from={from} /> of{' '}
      <Money amount={most} currency={currency} from={from} />
      <Gauge budget={budget} />
      <span class="small">
        {left === null ? null : (
          <>
            <Money amount={left.replace('-', '')} from={from} />{' '}
            {left.startsWith('-') ? 'beyond it' : 'left'}
          </>
        )}
        {isOver ? <strong class="state bad">, reached</strong> : null}
        {isReached && !isOver ? (
          <strong class="state warn">
            {left === null ? '' : ', '}past the warning at {grouped(soft ?? '')}
          </strong>
        ) : null}
      </span>
    </>
  )
}

interface TileProps {
  readonly account: Account
  readonly tenantId: string
  readonly of: TileFacts
  readonly tz: string | undefined
  readonly clock: ZoneClock
}

/** Facts next to the parts: the month so far, the budgets, and since when money is held. */
function asideOf({ account, tenantId, of: { month, budgets }, tz, clock }: TileProps) {
  const { currency, held_since: since, held_tasks: tasks } = account
  const facts: (readonly [name: string, value: ComponentChildren])[] = []
  if (month !== undefined && 'facts' in month) {
    const query = { tenant_id: tenantId, tz, ...THIS_MONTH }
    const net = month.facts.totals.find((total) => total.currency === currency)?.net ?? '0'
    facts.push([
      'net this month',
      <a href={summaryHref({ tenant_id: tenantId, tz, currency, time_preset: 'this_month' })}>
        <Money
          amount={net}
          currency={currency}
          from={isZero(net) ? undefined : apiPath('/usage', query)}
        />
      </a>,
    ])
  }
  if (budgets !== undefined && 'facts' in budgets)
    for (const budget of budgets.facts.filter((one) => one.currency === currency))
      facts.push([
        `budget per ${budget.period}`,
        <BudgetUse
          budget={budget}
          from={adminPath(`/tenants/${encodeURIComponent(tenantId)}/budgets`)}
        />,
      ])
  if (since !== null && tasks !== null)
    facts.push([
      'held',
      <>
        for{' '}
        <a href={activityHref(tenantId, { tz, type: 'task' })}>
          {tasks} {tasks === 1 ? 'task' : 'tasks'}
        </a>
        , {tasks === 1 ? 'since' : 'the oldest since'}{' '}
        <Moment atMs={fromTimestamp(since)} clock={clock} precision="s" />
      </>,
    ])
  return facts
}

function Tile(props: TileProps): JSX.Element {
  const { account, tenantId } = props
  const { currency, available, balance } = account
  const from = apiPath('/balance', { tenant_id: tenantId })
  const aside = asideOf(props)
  return (
    <div class="panel tile">
      <h2>{available === null ? 'Balance' : 'Available'}</h2>
      <p class="figure">
        <Money amount={available ?? balance} currency={currency} from={from} />
      </p>
      <div class="tile-body">
        <Parts account={account} from={from} />
        {aside.length === 0 ? null : <Facts facts={aside} />}
      </div>
    </div>
  )
}

/** The balances of a tenant, one tile for each currency. */
export function Tiles({
  of,
  tz,
  clock,
}: {
  readonly of: TileFacts
  readonly tz: string | undefined
  readonly clock: ZoneClock
}): JSX.Element {
  const { balances, month, budgets } = of
  if ('why' in balances) return <p class="panel note">Balances: {balances.why}</p>
  const accounts = balances.facts.items.flatMap(({ tenant_id: tenantId, accounts: all }) =>
    all.map((account) => ({ account, tenantId })),
  )
  if (accounts.length === 0) return <p class="panel note">No credit yet: an operator grants it.</p>
  return (
    <>
      <div class="tiles">
        {accounts.map((one) => (
          <Tile key={one.account.currency} {...one} of={of} tz={tz} clock={clock} />
        ))}
      </div>
      {[month, budgets].map((panel, index) =>
        panel !== undefined && 'why' in panel ? (
          <p key={index} class="note">
            {index === 0 ? 'This month' : 'Budgets'}: {panel.why}
          </p>
        ) : null,
      )}
    </>
  )
}
