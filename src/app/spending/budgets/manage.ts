import { tokensOfTenant } from '../../../../projections/access/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import { type Budget, type Budgets, budgets as setting } from '../../../domain/account/budgets.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { readSettings } from '../../accounts/account-facts.ts'
import { type AccessDeps, decideOnAccount, requireUsers } from '../../accounts/bootstrap.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import { type ByToken, depsOf, type ManagementDeps } from '../../accounts/management.ts'
import type { Reach } from '../../accounts/reach.ts'
import { requireCaughtUp } from '../../read-models/caught-up.ts'
import { standing, type StandingBudgets } from './standing.ts'

/** What a tenant's budgets shall be: all of them. */
export interface WantedBudgets {
  readonly tenantId: string
  /** Undefined: as it is, UTC at first. */
  readonly timeZone?: string | undefined
  readonly budgets: readonly Budget[]
  /** The revision that was looked at; undefined: nobody looked. */
  readonly basis?: number | undefined
}

/**
 * Budgets of tenants as they are managed by tokens: those of a tenant outside the reach read exactly like
 * those of none (P8). An administrator of the tenant sets those of its users and tokens; what bounds the
 * tenant itself, and by which days, only an operator changes.
 */
export interface ManagedBudgets {
  /** @throws DomainError `tenant_not_found` */
  readonly show: (reach: Reach, tenantId: string) => Promise<StandingBudgets>
  /** @throws DomainError `scope_denied`, `user_not_found`, `token_not_found`, those of the account decider */
  readonly set: (
    reach: Reach,
    by: ByToken,
    wanted: WantedBudgets,
  ) => Promise<StandingBudgets & { readonly changed: boolean }>
}

/** @throws the codes of the log and of the database; `read_model_behind` */
export function createManagedBudgets(
  deps: ManagementDeps,
  tenants: Pick<ManagedTenants, 'find'>,
): ManagedBudgets {
  const { log, db, clock } = deps
  const budgetsOf = async (tenantId: string): Promise<Budgets> =>
    (await readSettings(log, tenantId)).budgets ?? setting.none
  return {
    show: async (reach, tenantId) => {
      await tenants.find(reach, tenantId)
      const said = await budgetsOf(tenantId)
      if (said.budgets.length > 0) await requireCaughtUp(deps, 'ledger')
      return standing(db, tenantId, said, clock.nowMs())
    },
    set: async (reach, by, wanted) => {
      const { tenantId, basis } = wanted
      await tenants.find(reach, tenantId)
      const now = await budgetsOf(tenantId)
      if (reach.kind !== 'all') requireOwn(now, wanted)
      await requireCaughtUp(deps, 'access')
      // What was allowed by what there was is only done to what there was.
      const looked = basis ?? (reach.kind === 'all' ? undefined : now.revision)
      const { changed, said } = await setBudgets(depsOf(deps, by), db, { ...wanted, basis: looked })
      return { changed, ...(await standing(db, tenantId, said, clock.nowMs())) }
    },
  }
}

/**
 * Sets all budgets of a tenant; the same again changes nothing.
 * @throws DomainError `user_not_found`, `token_not_found`, those of the account decider
 */
export async function setBudgets(
  deps: AccessDeps,
  db: Queryable,
  wanted: WantedBudgets,
): Promise<{
  readonly changed: boolean
  readonly position: bigint | undefined
  readonly said: Budgets
}> {
  const { tenantId, budgets, basis } = wanted
  const subjects = budgets.map(({ subject }) => subject)
  await requireUsers(
    deps.log,
    tenantId,
    subjects.flatMap((subject) => (subject.kind === 'user' ? [subject.userId] : [])),
  )
  const tokenIds = subjects.flatMap((one) => (one.kind === 'token' ? [one.tokenId] : []))
  await requireTokens(db, tenantId, tokenIds)
  const at = toTimestamp(deps.clock.nowMs())
  const command = { kind: 'set-setting', setting: 'budgets', tenantId, wanted, basis, at } as const
  const decided = await decideOnAccount(deps, command)
  return {
    changed: decided.events.length > 0,
    position: decided.position,
    said: decided.state.settings.budgets ?? setting.none,
  }
}

async function requireTokens(
  db: Queryable,
  tenantId: string,
  tokenIds: readonly string[],
): Promise<void> {
  if (tokenIds.length === 0) return
  const known = new Set(await tokensOfTenant(db, tenantId, tokenIds))
  const missing = tokenIds.filter((id) => !known.has(id))
  if (missing.length === 0) return
  const words = `the tenant has no token ${missing.slice(0, 10).join(', ')}`
  throw new DomainError('token_not_found', words, { param: 'budgets' })
}

/** @throws DomainError `scope_denied` where more than budgets of users and tokens would change */
function requireOwn(now: Budgets, wanted: WantedBudgets): void {
  if (typeof setting.operatorsOnly !== 'function') return
  const refused = setting.operatorsOnly(wanted, now)
  if (refused) throw new DomainError('scope_denied', refused.message, { param: refused.param })
}
