import type { UserRow } from '../../../projections/access/query.ts'
import { settingIn } from '../../domain/account/settings.ts'
import type { AccountUser } from '../../domain/account/users.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type AccountCommandDeps, changeAccount, type Changed } from './account-commands.ts'
import { type AccountSource, readAccountState } from './account-state.ts'

/** Users of a tenant, by the log. */

/** Renames a user; the same name again changes nothing. @throws DomainError of the account decider */
export function renameUser(
  deps: AccountCommandDeps,
  input: { readonly tenantId: string; readonly userId: string; readonly name: string },
): Promise<Changed> {
  return changeAccount(deps, { kind: 'rename-user', ...input, at: toTimestamp(deps.clock.nowMs()) })
}

/**
 * Refuses users that the tenant does not have: a token of an unknown user could never be used. It
 * reads the log, so a user added a moment ago counts.
 * @throws DomainError `tenant_not_found`, `user_not_found`
 */
export async function requireUsers(
  source: AccountSource,
  tenantId: string,
  userIds: readonly string[],
): Promise<void> {
  const known = new Set((await usersOf(source, tenantId)).map((user) => user.userId))
  const missing = userIds.filter((id) => !known.has(id))
  if (missing.length > 0)
    throw new DomainError(
      'user_not_found',
      `tenant ${tenantId} has no user ${missing.join(', ')}`,
      {},
    )
}

/** Users of a tenant, from the log. @throws DomainError `tenant_not_found` */
export async function usersOf(
  source: AccountSource,
  tenantId: string,
): Promise<readonly AccountUser[]> {
  const { name, users } = await readAccountState(source, tenantId)
  if (name === undefined) throw new DomainError('tenant_not_found', `no tenant ${tenantId}`, {})
  return [...users.values()]
}

/** Reads a user by the log, with its suspension. @throws DomainError `user_not_found` */
export async function readUser(
  source: AccountSource,
  tenantId: string,
  userId: string,
): Promise<UserRow> {
  const { users, settings } = await readAccountState(source, tenantId)
  const user = users.get(userId)
  if (user === undefined)
    throw new DomainError('user_not_found', `tenant ${tenantId} has no user ${userId}`, {})
  const { suspendedUsers } = settingIn(settings, 'status')
  const suspended = suspendedUsers.find((one) => one.userId === userId)
  return { ...rowOf(user), suspendedReason: suspended?.reason ?? null }
}

const rowOf = ({ tenantId, userId, name, addedAt }: AccountUser) => ({
  tenantId,
  userId,
  name,
  addedAtMs: fromTimestamp(addedAt),
})
