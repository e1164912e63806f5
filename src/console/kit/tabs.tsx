import type { JSX } from 'preact'
import type { Principal } from '../../app/access/principal.ts'
import { hrefOf, paths } from './href.ts'

/** The places of the ledger. Prices are read with admin tokens alone, as their routes are. */

const places = [
  [paths.lines, 'Lines'],
  [paths.summary, 'Summary'],
  [paths.movements, 'Movements'],
  [paths.credits, 'Credits'],
  [paths.holds, 'Held'],
  [paths.prices, 'Prices'],
] as const

/** The addresses of the tabs. */
export const TAB_HREFS = places.map(([path]) => hrefOf(path))

/** The id of the tabs: a filter that replaces a part of the page replaces them as well. */
export const TABS = 'tabs'

/** Links to the places of the ledger, which keep the tenant and the time zone of the page. */
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
  const shown = places.filter(([path]) => kind === 'admin' || path !== paths.prices)
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
