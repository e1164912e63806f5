import type { JSX } from 'preact'
import { type Static, Type } from 'typebox'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { ChangesQuerySchema, readChanges } from '../../api/query/changes.ts'
import { AsOf } from '../../api/query/schemas.ts'
import type { TimeRange } from '../../api/query/time-range.ts'
import { type Changes, ChangesTable } from '../kit/changes.tsx'
import { Download, tableFormats } from '../kit/download.tsx'
import { fieldOf, type FilterField, timeFields } from '../kit/fields.ts'
import { FilterForm } from '../kit/filter.tsx'
import { apiPath, changesHref, paths } from '../kit/href.ts'
import { factsOrWords, type PanelFacts } from '../kit/panel.tsx'
import { boundedOf, pageOf, Pager, withTime } from '../kit/time-pages.tsx'
import type { Page, View } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { namesOfOneTenant, tenantsShown } from '../session/reading-as.ts'

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
      <Download
        page={changesHref()}
        query={listed}
        asOf={changes.as_of}
        from={apiPath('/changes', { ...listed, as_of: changes.as_of })}
      />
    </>
  )
}

const { cursor: _cursor, ...filtered } = query.properties
const fileQuery = Type.Object({ ...filtered, as_of: Type.Optional(AsOf) })

/** All changes of a filter. */
export const changesFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: async (services, who, { query: asked }) => {
    const list = await readChanges(services, who, withTime(asked, '7d'))
    const rows = namesOfOneTenant(asked) ? (await list.page()).items : []
    const tenants = rows.flatMap(({ tenant_id: id }) => (id === null ? [] : [{ tenant_id: id }]))
    return { list: withFiles(list, true), tenantIds: tenantsShown(asked, tenants) }
  },
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
