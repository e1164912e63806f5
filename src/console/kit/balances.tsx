import type { JSX } from 'preact'
import type { readBalance } from '../../api/query/balance.ts'
import { apiPath } from './href.ts'
import type { PanelFacts } from './panel.tsx'
import { Facts, Money } from './values.tsx'

export type Balances = Awaited<ReturnType<Awaited<ReturnType<typeof readBalance>>['page']>>
type Account = Balances['items'][number]['accounts'][number]

function Tile({
  account,
  from,
}: {
  readonly account: Account
  readonly from: string
}): JSX.Element {
  const { currency, available, balance } = account
  return (
    <div class="panel tile">
      <h2>{available === null ? 'Balance' : 'Available'}</h2>
      <p class="figure">
        <Money amount={available ?? balance} currency={currency} from={from} />
      </p>
      <Facts
        facts={[
          ['granted', <Money amount={account.granted} from={from} />],
          ['settled', <Money amount={account.settled} from={from} />],
          ...(account.held === null
            ? []
            : [['held', <Money amount={account.held} from={from} />] as const]),
        ]}
      />
    </div>
  )
}

/** The balances of a tenant, one tile for each currency. */
export function Tiles({ of }: { readonly of: PanelFacts<Balances> }): JSX.Element {
  if ('why' in of) return <p class="panel note">Balances: {of.why}</p>
  const accounts = of.facts.items.flatMap(({ tenant_id: tenantId, accounts: all }) =>
    all.map((account) => ({ account, from: apiPath('/balance', { tenant_id: tenantId }) })),
  )
  if (accounts.length === 0) return <p class="panel note">No credit yet: an operator grants it.</p>
  return (
    <div class="tiles">
      {accounts.map(({ account, from }) => (
        <Tile key={account.currency} account={account} from={from} />
      ))}
    </div>
  )
}
