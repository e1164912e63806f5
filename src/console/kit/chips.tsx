import type { JSX } from 'preact'
import { readZone } from '../../api/query/time-range.ts'
import { isDate, readTime } from '../../kernel/read-time.ts'
import type { FilterField } from './fields.ts'
import { addressOf, type Query } from './href.ts'
import { zoneClock } from './values.tsx'

/** The conditions of a page as chips: each says what it is, and is a link to the page without it. */

/** Words for conditions that come in by links and have no field, or a field whose label needs the one before. */
const labels: Readonly<Record<string, string>> = {
  from: 'From',
  to: 'Before',
  tenant_id: 'Tenant',
  user_id: 'User',
  token_id: 'Token',
  sku: 'SKU',
  source_id: 'Life',
  request_id: 'Request',
  as_of: 'As of position',
  since: 'After position',
  all: 'All prices',
  sort: 'Order',
}

/** Members of an address that are no condition: the place in a list, and the zone, which stands with the title. */
const unconditional: ReadonlySet<string> = new Set(['cursor', 'tz'])

/** The conditions of a query, in the order of its members. */
export const conditionsIn = (values: Query): readonly (readonly [name: string, value: string])[] =>
  Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === '' || unconditional.has(name) ? [] : [[name, String(value)]],
  )

const labelOf = (name: string, field: FilterField | undefined): string =>
  labels[name] ?? field?.label ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

/** A time in the zone of the page as its field holds it: exact, and such that the field may be sent again. */
export function timeText(text: string, tz: string | undefined): string {
  if (isDate(text)) return text
  const atMs = readTime(text)
  if (atMs === undefined) return text
  const zone = readZone(tz)
  const shown = atMs % 1_000 === 0 ? zone.secondAt(atMs) : zone.timestampAt(atMs)
  return shown.replace('+00:00', 'Z')
}

function valueOf(name: string, value: string, tz: string | undefined, field?: FilterField): string {
  if (field?.words?.[value] !== undefined) return field.words[value]
  if (name === 'sort') {
    const column = value.replace(/^-/, '').replaceAll('_', ' ')
    return `${column}, ${value.startsWith('-') ? 'descending' : 'ascending'}`
  }
  const atMs = name === 'from' || name === 'to' ? readTime(value) : undefined
  if (atMs === undefined) return value
  const { day, time } = zoneClock(tz ?? 'UTC', readZone(tz))
  if (isDate(value)) return zoneClock('UTC', readZone(undefined)).day(atMs)
  return `${day(atMs)} ${time(atMs).replace(/\.000$/, '')}`
}

/** All conditions; one that is always chosen, such as a preset of the time, has no link. */
export function Chips({
  action,
  fields,
  values,
}: {
  /** The address of the page without its query. */
  readonly action: string
  readonly fields: readonly FilterField[]
  readonly values: Query
}): JSX.Element | null {
  const tz = typeof values['tz'] === 'string' ? values['tz'] : undefined
  const shown = conditionsIn(values)
  if (shown.length === 0) return null
  return (
    <ul class="chips" aria-label="Shown">
      {shown.map(([name, value]) => {
        const field = fields.find((one) => one.name === name)
        const words = `${labelOf(name, field)}: ${valueOf(name, value, tz, field)}`
        return field?.noChoice === null ? (
          <li key={name} class="always">
            {words}
          </li>
        ) : (
          <li key={name}>
            <a
              href={addressOf(action, { ...values, [name]: undefined, cursor: undefined })}
              aria-label={`Remove ${words}`}
            >
              {words} <span aria-hidden="true">×</span>
            </a>
          </li>
        )
      })}
    </ul>
  )
}
