import { toBudget } from '../../api/kit/answers/balances.ts'
import { readBalance } from '../../api/query/balance.ts'
import { readUsage } from '../../api/query/usage.ts'
import type { Principal } from '../../app/access/principal.ts'
import { scopeOfAdminToken } from '../../app/accounts/admin-scope.ts'
import { managedBudgets } from '../../app/spending/budgets/status.ts'
import type { ConsoleServices } from '../page.tsx'
import { type PanelFacts, panelFacts } from './panel.tsx'

/** The facts of the tiles of balances. */

type Balances = Awaited<ReturnType<Awaited<ReturnType<typeof readBalance>>['page']>>
export type Account = Balances['items'][number]['accounts'][number]
type Usage = Awaited<ReturnType<Awaited<ReturnType<typeof readUsage>>['page']>>
export type Budget = ReturnType<typeof toBudget>

/** The facts of the tiles of a tenant. */
export interface TileFacts {
  readonly balances: PanelFacts<Balances>
  /** Settled since the month of the zone began. */
  readonly month: PanelFacts<Usage> | undefined
  /** Budgets of the tenant itself, for sessions that may see them. */
  readonly budgets: PanelFacts<readonly Budget[]> | undefined
}

/** The query of what was settled this month. */
export const THIS_MONTH = { time_preset: 'this_month', group_by: 'month' } as const

/** Reads the tiles of a tenant, for finance. */
export async function readTiles(
  services: ConsoleServices,
  who: Principal,
  token: Principal,
  asked: { readonly tenant_id?: string | undefined; readonly tz?: string | undefined },
): Promise<TileFacts> {
  const tenantId = asked.tenant_id ?? who.tenantId
  const ofTenant = { tenant_id: tenantId }
  const ofFinance = <Read>(read: () => Promise<Read>) => panelFacts(who, ['finance'], read)
  const seesWholeTenant = who.scope?.level.startsWith('all_') === true
  const tz = asked.tz === undefined ? {} : { tz: asked.tz }
  const [balances, month, budgets] = await Promise.all([
    ofFinance(async () => (await readBalance(services, who, ofTenant)).page()),
    seesWholeTenant
      ? ofFinance(async () =>
          (await readUsage(services, who, { ...ofTenant, ...tz, ...THIS_MONTH })).page(),
        )
      : undefined,
    token.kind === 'admin'
      ? ofFinance(async () => {
          const scope = scopeOfAdminToken(token)
          const { budgets: found } = await services.accounts.settings.show(
            managedBudgets,
            scope,
            tenantId,
          )
          return found.filter(({ subject }) => subject.kind === 'tenant').map(toBudget)
        })
      : undefined,
  ])
  return { balances, month, budgets }
}
