import {
  type AccountLimits,
  limits as setting,
  type SubjectLimits,
} from '../../../domain/account/limits.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { readSettings } from '../../accounts/account-facts.ts'
import { type AccessDeps, decideOnAccount, requireUsers } from '../../accounts/bootstrap.ts'
import type { ManagedTenants } from '../../accounts/managed-tenants.ts'
import { type ByToken, depsOf, type ManagementDeps } from '../../accounts/management.ts'
import type { Reach } from '../../accounts/reach.ts'

/** What a tenant's limits shall be: all of them. */
export interface WantedLimits {
  readonly tenantId: string
  readonly limits: readonly SubjectLimits[]
  /** The revision that was looked at; undefined: nobody looked. */
  readonly basis?: number | undefined
}

/**
 * Limits of tenants and users as they are managed by tokens: those of a tenant outside the reach read exactly
 * like those of none (P8). An administrator of the tenant sets those of its users; the tenant's own are an
 * operator's.
 */
export interface ManagedLimits {
  /** @throws DomainError `tenant_not_found` */
  readonly show: (reach: Reach, tenantId: string) => Promise<AccountLimits>
  /** @throws DomainError `scope_denied`, `user_not_found`, those of the account decider */
  readonly set: (
    reach: Reach,
    by: ByToken,
    wanted: WantedLimits,
  ) => Promise<AccountLimits & { readonly changed: boolean }>
}

/** @throws the codes of the log and of the database; `read_model_behind` */
export function createManagedLimits(
  deps: ManagementDeps,
  tenants: Pick<ManagedTenants, 'find'>,
): ManagedLimits {
  const { log } = deps
  const limitsOf = async (tenantId: string): Promise<AccountLimits> =>
    (await readSettings(log, tenantId)).limits ?? setting.none
  return {
    show: async (reach, tenantId) => {
      await tenants.find(reach, tenantId)
      return limitsOf(tenantId)
    },
    set: async (reach, by, wanted) => {
      const { tenantId, basis } = wanted
      await tenants.find(reach, tenantId)
      const now = await limitsOf(tenantId)
      if (reach.kind !== 'all') requireOfUsers(now, wanted)
      // What was allowed by what there was is only done to what there was.
      const looked = basis ?? (reach.kind === 'all' ? undefined : now.revision)
      const { changed, said } = await setLimits(depsOf(deps, by), { ...wanted, basis: looked })
      return { changed, ...said }
    },
  }
}

/**
 * Sets all limits of a tenant and its users; the same again changes nothing.
 * @throws DomainError `user_not_found`, those of the account decider
 */
export async function setLimits(
  deps: AccessDeps,
  { tenantId, limits, basis }: WantedLimits,
): Promise<{
  readonly changed: boolean
  readonly position: bigint | undefined
  readonly said: AccountLimits
}> {
  const userIds = limits.flatMap(({ subject }) => (subject.kind === 'user' ? [subject.userId] : []))
  await requireUsers(deps.log, tenantId, userIds)
  const at = toTimestamp(deps.clock.nowMs())
  const wanted = { limits }
  const command = { kind: 'set-setting', setting: 'limits', tenantId, wanted, basis, at } as const
  const decided = await decideOnAccount(deps, command)
  return {
    changed: decided.events.length > 0,
    position: decided.position,
    said: decided.state.settings.limits ?? setting.none,
  }
}

/** @throws DomainError `scope_denied` where more than limits of users would change */
function requireOfUsers(now: AccountLimits, wanted: WantedLimits): void {
  if (typeof setting.operatorsOnly !== 'function') return
  const refused = setting.operatorsOnly(wanted, now)
  if (refused) throw new DomainError('scope_denied', refused.message, { param: refused.param })
}
