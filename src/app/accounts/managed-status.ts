import { holdersOf } from '../../../projections/ledger/query.ts'
import type { SettingValueOf } from '../../domain/account/settings.ts'
import { DomainError } from '../../kernel/errors.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import type { CheckDeps, ManagedSetting } from './settings.ts'
import { requireUsers } from './users.ts'

/** Tasks named in the refusal to close a tenant. */
const NAMED_HOLDERS = 10

/**
 * Refuses to close a tenant while its tasks or calls hold money: they would end, and be billed,
 * after it.
 * @throws DomainError `tenant_busy`, `read_model_behind`
 */
async function requireNoHolds(
  deps: Pick<CheckDeps, 'log' | 'db' | 'doCallsHold'>,
  tenantId: string,
) {
  await requireCaughtUp(deps, 'ledger')
  const { ids, total } = await holdersOf(deps.db, tenantId, NAMED_HOLDERS)
  if (total === 0 && !(await deps.doCallsHold(deps.db, tenantId))) return
  if (total === 0)
    throw new DomainError(
      'tenant_busy',
      'Calls are under way or not yet recorded: close the tenant once they have ended',
      { param: 'status' },
    )
  const more = total > ids.length ? ` and ${total - ids.length} more` : ''
  throw new DomainError(
    'tenant_busy',
    `Money is held for ${ids.join(', ')}${more}: close the tenant once they have ended, or delete those that are queued`,
    { param: 'status' },
  )
}

/** Suspended users must exist, and a tenant that is closed has nothing under way. */
export const managedStatus: ManagedSetting<'status', SettingValueOf<'status'>> = {
  name: 'status',
  check: async (deps, tenantId, { tenant, suspendedUsers = [], user }, now) => {
    const named = user === undefined ? suspendedUsers : [...suspendedUsers, user]
    if (named.length > 0)
      await requireUsers(
        deps,
        tenantId,
        named.map(({ userId }) => userId),
      )
    if (tenant?.status === 'closed' && now.status === 'suspended')
      await requireNoHolds(deps, tenantId)
    return []
  },
  prepare: () => Promise.resolve((status) => status),
  readModel: 'access',
}
