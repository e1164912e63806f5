import type { OrderedMap } from 'immutable'
import { isSameText } from '../../kernel/characters.ts'
import { DomainError } from '../../kernel/errors.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { checkedName } from './name.ts'

/** The users of a tenant. */

/** Users of one tenant: each is read with its account. */
export const MAX_USERS = 10_000

/** A user of a tenant with its present name. */
export interface AccountUser extends AccountEventData<'UserAdded'> {
  /** The name it was added with: adding it again with that name, or its present one, changes nothing. */
  readonly addedAs: string
}

/** Users by id, in the order in which they were added. */
export type AccountUsers = OrderedMap<string, AccountUser>

/** Adds a user or names one. `at` is RFC 3339. */
export interface NameUser {
  readonly kind: 'add-user' | 'rename-user'
  readonly tenantId: string
  readonly userId: string
  readonly name: string
  readonly at: string
}

/** @throws DomainError `user_exists`, `too_many_users` */
export function addUser(
  { tenantId, userId, name, at }: NameUser,
  users: AccountUsers,
): readonly AccountEvent[] {
  const known = users.get(userId)
  if (known !== undefined) {
    if (isSameText(known.addedAs, name) || isSameText(known.name, name)) return []
    const message = `the tenant already has this user, named \`${known.name}\``
    throw new DomainError('user_exists', message, { tenantId, userId })
  }
  if (users.size >= MAX_USERS)
    throw new DomainError('too_many_users', `a tenant has at most ${MAX_USERS} users`, {})
  return [{ type: 'UserAdded', data: { tenantId, userId, name, addedAt: at } }]
}

/** @throws DomainError `user_not_found`, `setting_invalid` for a name that is not one line */
export function renameUser(
  { tenantId, userId, name: wanted, at }: NameUser,
  users: AccountUsers,
): readonly AccountEvent[] {
  const name = checkedName(wanted)
  const user = users.get(userId)
  if (user === undefined)
    throw new DomainError('user_not_found', `tenant ${tenantId} has no user ${userId}`, {})
  if (isSameText(user.name, name)) return []
  return [{ type: 'UserRenamed', data: { tenantId, userId, name, renamedAt: at } }]
}

/** The users after an event about one of them. */
export function withUser(
  users: AccountUsers,
  event: Extract<AccountEvent, { readonly type: 'UserAdded' | 'UserRenamed' }>,
): AccountUsers {
  const { userId, name } = event.data
  if (event.type === 'UserAdded') return users.set(userId, { ...event.data, addedAs: name })
  const user = users.get(userId)
  return user === undefined ? users : users.set(userId, { ...user, name })
}
