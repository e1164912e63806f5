import type { JSX } from 'preact'
import { Moment, type ZoneClock } from './values.tsx'

/** The facts by which a printed page says what it is. */
export interface PrintedFacts {
  readonly clock: ZoneClock
  /** Time of the answer, Unix milliseconds. */
  readonly madeAtMs: number
  /** Ids of the tenants that the page is about; empty: all that the reader sees. */
  readonly tenantIds: readonly string[]
  /** What was asked for, as the address has it. */
  readonly asked: Readonly<Record<string, string | number>>
}

/** Members of addresses that are places on a page, and the zone, which stands by itself. */
const leftOut: ReadonlySet<string> = new Set(['cursor', 'since', 'tz', 'tenant_id'])

/** The head of a printed page: whose it is, of what, in which zone, made when. No screen shows it. */
export function Printed({
  title,
  sees,
  of: { clock, madeAtMs, tenantIds, asked },
}: {
  readonly title: string
  readonly sees: string
  readonly of: PrintedFacts
}): JSX.Element {
  const filter = Object.entries(asked).flatMap(([name, value]) =>
    leftOut.has(name) || value === '' ? [] : [`${name.replaceAll('_', ' ')} ${value}`],
  )
  return (
    <div class="printed" aria-hidden="true">
      <p>
        <strong>Tollgate: {title}</strong>
      </p>
      <p>
        {tenantIds.length === 0 ? sees : `tenant ${tenantIds.join(', ')}`} · times in {clock.zone} ·
        made <Moment atMs={madeAtMs} clock={clock} precision="s" />
        {filter.length === 0 ? '' : ` · ${filter.join(', ')}`}
      </p>
    </div>
  )
}
