import type { JSX } from 'preact'
import type { Principal } from '../../app/access/principal.ts'
import { hrefOf } from './href.ts'

/** The places of the ledger. Prices are read with admin tokens alone, as their routes are. */

const places = [
  ['/ledger/lines', 'Lines'],
  ['/ledger/summary', 'Summary'],
  ['/ledger/movements', 'Movements'],
  ['/prices', 'Prices'],
] as const

/** Its id: a filter that replaces a part of the page replaces the tabs as well. */
export const TABS = 'tabs'

/** They keep the tenant and the time zone that a page was asked for. */
export function LedgerTabs({
  at,
  token: { kind },
  asked: { tenant_id, tz },
}: {
  /** Path of the page below the console. */
  readonly at: string
  readonly token: Pick<Principal, 'kind'>
  readonly asked: { readonly tenant_id?: string | undefined; readonly tz?: string | undefined }
}): JSX.Element {
  const shown = places.filter(([path]) => kind === 'admin' || path !== '/prices')
  const currentOf = (path: string) => {
    if (path === at) return 'page'
    return at.startsWith(`${path}/`) ? 'true' : undefined
  }
  return (
    <nav class="tabs" id={TABS} aria-label="Ledger">
      {shown.map(([path, name]) => (
        <a key={path} href={hrefOf(path, { tenant_id, tz })} aria-current={currentOf(path)}>
          {name}
        </a>
      ))}
    </nav>
  )
}
