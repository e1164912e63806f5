import { type Static, Type } from 'typebox'
import { readTenants } from '../../api/admin/tenants.ts'
import { withFiles } from '../../api/kit/answers/lists.ts'
import { cursorMembers } from '../../api/kit/routes/queries.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Download, tableFormats } from '../kit/download.tsx'
import { adminPath, paths, tenantHref, tenantsHref } from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Pager } from '../kit/time-pages.tsx'
import { Moment, type ZoneClock, State } from '../kit/values.tsx'
import { Redirect, type Page } from '../page.tsx'
import type { PageFile } from '../page-files.ts'
import { adminScopeOfSession } from '../session/reading-as.ts'
import { OpenTenant } from './life-forms.tsx'

/** The tenants that an admin token manages. */

const query = Type.Object({
  cursor: cursorMembers.cursor,
  tz: timeRangeMembers.tz,
})
type Tenants = Awaited<ReturnType<ReturnType<typeof readTenants>['page']>>
type ShownTenant = Tenants['items'][number]

interface TenantsFacts extends Tenants {
  readonly query: Static<typeof query>
}

const columnsIn = (clock: ZoneClock): readonly TableColumn<ShownTenant>[] => [
  { name: 'name', narrow: 'lead', cell: ({ id, name }) => <a href={tenantHref(id)}>{name}</a> },
  { name: 'tenant', cell: ({ id }) => <code>{id}</code> },
  { name: 'status', cell: ({ status }) => <State word={status} /> },
  {
    name: 'opened',
    cell: ({ opened_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
]

const fileQuery = Type.Object({})

/** All tenants. */
export const tenantsFile: PageFile<typeof fileQuery, (typeof tableFormats)[number]> = {
  formats: tableFormats,
  query: fileQuery,
  read: ({ accounts: { tenants } }, _who, { token }) => {
    const list = readTenants(tenants, adminScopeOfSession(token, 'Tenants'), {})
    return Promise.resolve({ list: withFiles(list, true), tenantIds: [] })
  },
}

/** All tenants for an operator; an administrator is led to its own. */
export const tenantsPage: Page<typeof query, TenantsFacts> = {
  path: paths.tenants,
  roles: ['finance', 'support'],
  query,
  read: async ({ accounts: { tenants } }, _who, { query: asked, token }) => {
    const scope = adminScopeOfSession(token, 'Tenants')
    if (scope.kind !== 'all') return new Redirect(tenantHref(token.tenantId))
    const { cursor } = asked
    const page = { limit: 50, ...(cursor === undefined ? {} : { cursor }) }
    return { query: asked, ...(await readTenants(tenants, scope, page).page()) }
  },
  title: () => 'Tenants',
  show: ({ items, next_cursor: next, query: asked }, view) => (
    <>
      <h1 class="title">Tenants</h1>
      <section class="panel" aria-label="Tenants">
        <Table
          label="Tenants by id"
          columns={columnsIn(view.clock)}
          rows={items}
          keyOf={({ id }) => id}
          empty="No tenant yet."
        />
        <Pager href={tenantsHref} query={asked} next={next} />
        <Download page={tenantsHref()} query={{}} from={adminPath('/tenants')} token="admin" />
      </section>
      {view.token.role === undefined ? <OpenTenant view={view} /> : null}
    </>
  ),
}
