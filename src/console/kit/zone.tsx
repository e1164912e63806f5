import type { JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { createLru } from '../../kernel/lru.ts'

/** The zone of a page, shown with its title. */

/** All zones to choose from: names of the IANA database, and UTC. */
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name.includes('/'))]

/** The options as markup, by the chosen zone: each page has all of them. */
const optionsOf = createLru<string, string>(50)

function optionsFor(zone: string): string {
  const known = optionsOf.get(zone)
  if (known !== undefined) return known
  const options = renderToString(
    <>
      {(ZONES.includes(zone) ? ZONES : [zone, ...ZONES]).map((name) => (
        <option key={name} selected={name === zone}>
          {name}
        </option>
      ))}
    </>,
  )
  optionsOf.set(zone, options)
  return options
}

/** The id of the zone: a filter that replaces a part of the page replaces it as well. */
export const ZONE = 'zone'

/** The zone of the page, and the choice of another one: the address stays otherwise the same. */
export function Zone({
  path,
  zone,
  query,
}: {
  /** The path of the page. */
  readonly path: string
  readonly zone: string
  /** Members of the address; undefined: no address shows this page again. */
  readonly query: Readonly<Record<string, string>> | undefined
}): JSX.Element {
  if (query === undefined)
    return (
      <p class="zone" id={ZONE}>
        times in {zone}
      </p>
    )
  // A cursor belongs to a list of one zone.
  const { tz: _tz, cursor: _cursor, ...kept } = query
  return (
    <details class="zone" id={ZONE}>
      <summary>times in {zone}</summary>
      <form method="get" action={path}>
        {Object.entries(kept).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <label>
          <span>Time zone</span>
          <select name="tz" dangerouslySetInnerHTML={{ __html: optionsFor(zone) }} />
        </label>
        <button type="submit">Set</button>
      </form>
    </details>
  )
}
