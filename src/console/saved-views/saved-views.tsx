import type { FastifyInstance } from 'fastify'
import type { JSX } from 'preact'
import { Type } from 'typebox'
import { actorOf } from '../../api/kit/routes/account-surface.ts'
import { RequestError } from '../../api/kit/request-error.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import type { Principal } from '../../app/access/principal.ts'
import type { ViewSaved } from '../../domain/saved-view/events.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { fieldsOf } from '../form-body.ts'
import { nextPlace, paths, removeViewHref, savedViewsHref } from '../kit/href.ts'
import { Panel } from '../kit/panel.tsx'
import { Table, type TableColumn } from '../kit/table.tsx'
import { Moment, type ZoneClock } from '../kit/values.tsx'
import { type ConsoleServices, type Page, pageRoute } from '../page.tsx'
import { savesViews, seesOtherTenants } from '../session/reading-as.ts'
import { savableAddress } from './address.ts'

/** Saved views: pages under a name, shared by the people of a tenant, or by those who see all tenants. */

interface Facts {
  readonly views: readonly ViewSaved[]
  /** Names of the tokens that saved them. */
  readonly names: ReadonlyMap<string, string>
  readonly spansTenants: boolean
}

const columnsOf = ({ names }: Facts, clock: ZoneClock): readonly TableColumn<ViewSaved>[] => [
  {
    name: 'view',
    narrow: 'lead',
    // The log may have been written by other programs.
    cell: ({ name, address }) => <a href={nextPlace(address)}>{name}</a>,
  },
  { name: 'page', cell: ({ address }) => <code class="address">{address}</code> },
  { name: 'saved by', cell: ({ by: { tokenId } }) => names.get(tokenId) ?? tokenId },
  {
    name: 'saved',
    cell: ({ savedAt }) => <Moment atMs={fromTimestamp(savedAt)} clock={clock} />,
  },
  {
    name: 'remove',
    cell: ({ name }) => (
      <form method="post" action={removeViewHref()}>
        <input type="hidden" name="view" value={name} />
        <button type="submit" aria-label={`Remove the view ${name}`}>
          Remove
        </button>
      </form>
    ),
  },
]

function SavedViews({
  facts,
  clock,
}: {
  readonly facts: Facts
  readonly clock: ZoneClock
}): JSX.Element {
  const { views, spansTenants } = facts
  return (
    <>
      <h1 class="title">Saved views</h1>
      <Panel
        id="views"
        title={spansTenants ? 'Of all who see all tenants' : 'Of all who see this tenant'}
      >
        <Table
          label="Saved views"
          columns={columnsOf(facts, clock)}
          rows={views}
          keyOf={({ name }) => name}
          empty="No view is saved yet. Each page has a form below that saves it with its filter."
        />
      </Panel>
    </>
  )
}

/** The list of a session. @throws RequestError for one that sees only some users of a tenant */
function listOf(token: Principal): string | undefined {
  if (!savesViews(token))
    throw new RequestError('role_denied', 'Saved views are for sessions that see a whole tenant')
  return seesOtherTenants(token) ? undefined : token.tenantId
}

const query = Type.Object({ tz: timeRangeMembers.tz })

const savedViewsPage: Page<typeof query, Facts> = {
  path: paths.savedViews,
  roles: ['finance', 'support'],
  query,
  read: async ({ accounts, queries }, _who, { token }) => {
    const views = await accounts.savedViews.list(listOf(token))
    const tokens = [...new Set(views.map(({ by }) => by.tokenId))]
    const names = await queries.accounts.names({ tenants: [], users: [], tokens })
    return { views, names: names.tokens, spansTenants: seesOtherTenants(token) }
  },
  title: () => 'Saved views',
  show: (facts, { clock }) => <SavedViews facts={facts} clock={clock} />,
}

/** The page, and the forms that save and remove a view. */
export function savedViewRoutes(app: FastifyInstance, services: ConsoleServices): void {
  const { savedViews } = services.accounts
  pageRoute(app, services, savedViewsPage)
  const options = { config: { roles: savedViewsPage.roles }, schema: { hide: true } }
  app.post(paths.savedViews, options, async (request, reply) => {
    const { view: name, address } = fieldsOf(request, ['view', 'address'])
    const list = listOf(principalOf(request))
    const view = { name: name.trim(), address: savableAddress(services.pages, address) }
    await savedViews.save(actorOf(request), list, view)
    return reply.redirect(savedViewsHref(), 303)
  })
  app.post(paths.removeView, options, async (request, reply) => {
    const { view: name } = fieldsOf(request, ['view'])
    await savedViews.remove(actorOf(request), listOf(principalOf(request)), name)
    return reply.redirect(savedViewsHref(), 303)
  })
}
