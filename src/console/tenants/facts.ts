import { type Static, Type } from 'typebox'
import { readUsers, toTenant, toUser } from '../../api/admin/tenants.ts'
import { toBudget } from '../../api/kit/answers/balances.ts'
import { KnownId } from '../../api/kit/routes/account-surface.ts'
import { cursorMembers } from '../../api/kit/routes/queries.ts'
import { readTokens } from '../../api/kit/tokens/routes.ts'
import { timeRangeMembers } from '../../api/query/time-range.ts'
import { readChanges } from '../../api/query/changes.ts'
import type { Principal } from '../../app/access/principal.ts'
import { managedLimits } from '../../app/accounts/settings.ts'
import { managedStatus } from '../../app/accounts/managed-status.ts'
import { managedBudgets } from '../../app/spending/budgets/status.ts'
import type { SettingValueOf } from '../../domain/account/settings.ts'
import { type Budget, readTiles, type TileFacts } from '../kit/balance-facts.ts'
import type { Changes } from '../kit/changes.tsx'
import { type PanelFacts, panelFacts } from '../kit/panel.tsx'
import type { ConsoleServices } from '../page.tsx'
import { adminScopeOfSession } from '../session/reading-as.ts'

/** The facts of the page of a tenant, each as its route answers it. */

const cursor = cursorMembers.cursor
export const tenantQuery = Type.Object({
  users: cursor,
  tokens: cursor,
  /** The user whose status and limits are changed. */
  user: Type.Optional(KnownId),
  tz: timeRangeMembers.tz,
})
type Query = Static<typeof tenantQuery>

export type Users = Awaited<ReturnType<typeof readUsers>>
type Tokens = Awaited<ReturnType<typeof readTokens>>

export interface TenantFacts {
  readonly query: Query
  readonly tenant: ReturnType<typeof toTenant>
  readonly status: SettingValueOf<'status'>
  readonly tiles: TileFacts
  readonly users: PanelFacts<Users>
  /** The user that was chosen; undefined: none was. */
  readonly user: PanelFacts<ReturnType<typeof toUser>> | undefined
  readonly tokens: PanelFacts<Tokens>
  readonly limits: PanelFacts<SettingValueOf<'limits'>>
  readonly budgets: PanelFacts<{ readonly revision: number; readonly items: readonly Budget[] }>
  readonly changes: PanelFacts<Changes>
}

/** The last changes of a tenant on its page. */
const LAST_CHANGES = 10

const PAGE = 50
const pageOf = (after: string | undefined) => ({
  limit: PAGE,
  ...(after === undefined ? {} : { cursor: after }),
})

/** Reads a tenant; a list that the role may not see, or that is behind, says why. */
export async function readTenant(
  services: ConsoleServices,
  who: Principal,
  { id, query: asked, token }: { id: string; query: Query; token: Principal },
): Promise<TenantFacts> {
  const { tenants, tokens, settings } = services.accounts
  const scope = adminScopeOfSession(token, 'Tenants')
  const tenant = toTenant(await tenants.find(scope, id))
  const ofSupport = <Read>(reading: () => Promise<Read>) => panelFacts(token, ['support'], reading)
  const { user: userId } = asked
  const [status, tiles, users, user, owned, limits, budgets, changes] = await Promise.all([
    settings.show(managedStatus, scope, id),
    readTiles(services, who, token, { tenant_id: id, tz: asked.tz }),
    ofSupport(() => readUsers(tenants, scope, id, pageOf(asked.users))),
    userId === undefined
      ? undefined
      : ofSupport(async () => toUser(await tenants.user(scope, id, userId))),
    ofSupport(() => readTokens(tokens, scope, { tenant_id: id, ...pageOf(asked.tokens) })),
    ofSupport(() => settings.show(managedLimits, scope, id)),
    panelFacts(token, ['finance', 'support'], async () => {
      const { revision, budgets: found } = await settings.show(managedBudgets, scope, id)
      return { revision, items: found.map(toBudget) }
    }),
    panelFacts(token, ['finance', 'support'], async () =>
      (await readChanges(services, who, { tenant_id: id, limit: LAST_CHANGES })).page(),
    ),
  ])
  return {
    query: asked,
    tenant,
    status,
    tiles,
    users,
    user,
    tokens: owned,
    limits,
    budgets,
    changes,
  }
}
