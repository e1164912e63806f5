import { type Static, Type } from 'typebox'
import { readTenants } from '../../api/admin/tenants.ts'
import { cursorMembers } from '../../api/kit/routes/queries.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import type { Principal } from '../../app/access/principal.ts'
import { scopeOfAdminToken } from '../../app/accounts/admin-scope.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { hrefOf } from '../kit/href.ts'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Pager } from '../kit/time-pages.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'
import { Elsewhere, type Page } from '../page.tsx'

/** The tenants that an admin token manages. */

const query = Type.Object({
  cursor: cursorMembers.cursor,
  tz: Type.Optional(Type.String({ maxLength: 64 })),
})
type Tenants = Awaited<ReturnType<typeof readTenants>>
export type ShownTenant = Tenants['items'][number]

interface TenantsFacts extends Tenants {
  readonly query: Static<typeof query>
}

const PATH = '/tenants'
/** Tenants are listed without a time. */
const ALL = { fromMs: undefined, toMs: undefined }

/** The page of a tenant. */
export const tenantHref = (tenantId: string, of: Record<string, string | undefined> = {}): string =>
  hrefOf(`${PATH}/${encodeURIComponent(tenantId)}`, of)

/** The scope of a session of an admin token. @throws RequestError for one of a query token */
export function adminScopeOfSession(token: Principal) {
  if (token.kind === 'admin') return scopeOfAdminToken(token)
  throw new RequestError(
    'wrong_token_kind',
    'Tenants and tokens are shown to sessions of an admin token',
  )
}

const columnsIn = (clock: ZoneClock): readonly TableColumn<ShownTenant>[] => [
  { name: 'name', narrow: 'lead', cell: ({ id, name }) => <a href={tenantHref(id)}>{name}</a> },
  { name: 'tenant', cell: ({ id }) => <code>{id}</code> },
  { name: 'status', cell: ({ status }) => status },
  {
    name: 'opened',
    cell: ({ opened_at: at }) => <Moment atMs={fromTimestamp(at)} clock={clock} />,
  },
]

/** All tenants for an operator; an administrator is led to its own. */
export const tenantsPage: Page<typeof query, TenantsFacts> = {
  path: PATH,
  roles: ['finance', 'support'],
  query,
  read: async ({ accounts: { tenants } }, _who, { query: asked, token }) => {
    const scope = adminScopeOfSession(token)
    if (scope.kind !== 'all') return new Elsewhere(tenantHref(token.tenantId))
    const { cursor } = asked
    const page = { limit: 50, ...(cursor === undefined ? {} : { cursor }) }
    return { query: asked, ...(await readTenants(tenants, scope, page)) }
  },
  title: () => 'Tenants',
  show: ({ items, next_cursor: next, query: asked }, { clock }) => (
    <>
      <h1 class="title">Tenants</h1>
      <section class="panel" aria-label="Tenants">
        <Table
          label="Tenants by id"
          columns={columnsIn(clock)}
          rows={items}
          keyOf={({ id }) => id}
          empty="No tenant is open yet: tollgate tenant open NAME opens one."
        />
        <Pager path={PATH} query={asked} range={ALL} next={next} />
        <p class="note">
          Another one is opened with <code>tollgate tenant open NAME</code>.
        </p>
      </section>
    </>
  ),
}
