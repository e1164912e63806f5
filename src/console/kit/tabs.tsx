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

export function LedgerTabs({
  at,
  token: { kind },
}: {
  /** Path of the page below the console. */
  readonly at: string
  readonly token: Pick<Principal, 'kind'>
}): JSX.Element {
  const shown = places.filter(([path]) => kind === 'admin' || path !== '/prices')
  const currentOf = (path: string) => {
    if (path === at) return 'page'
    return at.startsWith(`${path}/`) ? 'true' : undefined
  }
  return (
    <nav class="tabs" aria-label="Ledger">
      {shown.map(([path, name]) => (
        <a key={path} href={hrefOf(path)} aria-current={currentOf(path)}>
          {name}
        </a>
      ))}
    </nav>
  )
}
