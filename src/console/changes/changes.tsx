import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { ChangesQuerySchema, readChanges } from '../../api/query/changes.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { type Changes, ChangesTable } from '../kit/changes.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, changesHref, paths } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import type { Page, View } from '../page.tsx'
import { tenantsShown } from '../session/reading-as.ts'

/** Who changed what, of whom, when and why. */

const { tz, from, to, time_preset, tenant_id, user_id, token_id, by, cursor } =
  ChangesQuerySchema.properties
const query = Type.Object({ tz, from, to, time_preset, tenant_id, user_id, token_id, by, cursor })
type Query = Static<typeof query>

interface ChangesFacts {
  readonly query: Query
  readonly list: PanelFacts<{ readonly changes: Changes; readonly range: TimeRange }>
}

const PART = 'changed'

const fields: readonly FilterField[] = [
  ...timeFields('recent'),
  { name: 'by', label: 'By', placeholder: 'name, user or token' },
  fieldOf.tenant,
  fieldOf.user,
  fieldOf.token,
]

function List({
  query: asked,
  changes,
  range,
  view,
}: {
  readonly query: Query
  readonly changes: Changes
  readonly range: TimeRange
  readonly view: View
}): JSX.Element {
  const listed = boundedOf(asked, range)
  return (
    <>
      <ChangesTable
        items={changes.items}
        label="Changes"
        empty="Nothing was changed in this time. Choose a longer time, or clear a filter."
        view={view}
      />
      <Pager href={changesHref} query={asked} range={range} next={changes.next_cursor} />
      <p class="note">
        As of position {changes.as_of} of the log. As a file:{' '}
        <code>GET {apiPath('/changes', { ...listed, format: 'csv' })}</code> with a query token, or{' '}
        <code>tollgate report changes --format csv</code>.
      </p>
    </>
  )
}

/** Changes of the last 7 days, unless another time is asked for. */
export const changesPage: Page<typeof query, ChangesFacts> = {
  path: paths.changes,
  roles: ['finance', 'support'],
  query,
  read: async (services, who, { query: asked }) => {
    const shown = withTime(asked, '7d')
    const list = await factsOrWords(async () => {
      const { facts: range, page } = await readChanges(
        services,
        who,
        pageOf(shown, services.clock.nowMs()),
      )
      return { changes: await page(), range }
    })
    return { query: shown, list }
  },
  tenantsOf: ({ query: asked, list }) =>
    tenantsShown(
      asked,
      'why' in list
        ? []
        : list.facts.changes.items.flatMap(({ tenant_id: id }) =>
            id === null ? [] : [{ tenant_id: id }],
          ),
    ),
  filter: () => ({ title: 'Changes', action: changesHref(), part: PART, fields }),
  title: () => 'Changes',
  show: ({ query: asked, list }, view) => (
    <>
      <h1 class="title">Changes</h1>
      <FilterForm action={changesHref()} part={PART} fields={fields} values={asked} />
      <div class="panel" id={PART} aria-live="polite">
        {'why' in list ? (
          <p class="note">{list.why}</p>
        ) : (
          <List query={asked} {...list.facts} view={view} />
        )}
      </div>
    </>
  ),
}
