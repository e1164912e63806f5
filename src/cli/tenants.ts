import { catalog } from '../families/index.ts'
import { listTenants } from '../../projections/access/query.ts'
import {
  addUser,
  openTenant,
  type AccountCommandDeps,
  usersOf,
} from '../app/accounts/account-commands.ts'
import { nearestTenant, readTenant } from '../app/accounts/managed-tenants.ts'
import type { ManagementDeps } from '../app/accounts/management.ts'
import { systemClock } from '../kernel/clock.ts'
import { actorOf } from './actor.ts'
import { CommandError, note, print, show, table, toJson } from './output.ts'
import type { Session } from './session.ts'

/** Most rows a list shows. */
export const LIST_LIMIT = 1_000

/** Options of every command that changes something. */
export interface ActorOption {
  readonly actor?: string
}

/** What commands that change access work with. */
export function depsOf(
  { log, pool: db }: Session,
  { actor }: ActorOption,
): AccountCommandDeps & ManagementDeps {
  return { log, db, catalog, clock: systemClock, correlationId: 'cli', actor: actorOf(actor) }
}

/** Refuses a tenant that the log does not have. @throws CommandError naming the nearest */
export async function requireTenant(
  { log, pool: db }: Pick<Session, 'log' | 'pool'>,
  tenantId: string,
): Promise<void> {
  if ((await readTenant({ log }, tenantId)) !== undefined) return
  const hint = await nearestTenant({ db }, tenantId)
  throw new CommandError(`there is no tenant ${tenantId}${hint}`)
}

export async function openTenantCommand(
  session: Session,
  name: string,
  options: ActorOption & { id?: string; user?: string; json?: boolean },
): Promise<void> {
  const deps = depsOf(session, options)
  const { tenantId, position } = await openTenant(deps, {
    name,
    ...(options.id ? { tenantId: options.id } : {}),
  })
  const users = position === undefined ? await usersOf(deps, tenantId) : []
  const [known] = users
  if (known !== undefined) {
    note('the tenant was open before')
    return show({ tenantId, userId: known.userId }, options.json)
  }
  const user = await addUser(deps, { tenantId, name: options.user ?? name })
  show({ tenantId, userId: user.userId }, options.json)
  await session.projected('access', user.position)
}

/** `tollgate tenant add-user` */
export async function addUserCommand(
  session: Session,
  name: string,
  options: ActorOption & { tenant: string; id?: string; json?: boolean },
): Promise<void> {
  const user = await addUser(depsOf(session, options), {
    tenantId: options.tenant,
    name,
    ...(options.id ? { userId: options.id } : {}),
  })
  show({ tenantId: options.tenant, userId: user.userId }, options.json)
  await session.projected('access', user.position)
}

/** `tollgate tenant users` */
export async function listUsersCommand(
  { log, pool: db }: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const users = await usersOf({ log, db }, options.tenant)
  if (options.json) return print(toJson(users))
  const rows = users.map((user) => [user.userId, user.name])
  for (const line of table(['user', 'name'], rows)) print(line)
}

export async function listTenantsCommand(
  session: Session,
  options: { json?: boolean },
): Promise<void> {
  const tenants = await listTenants(session.pool, { limit: LIST_LIMIT })
  if (options.json) return print(toJson(tenants))
  for (const line of table(
    ['tenant', 'name'],
    tenants.map((t) => [t.tenantId, t.name]),
  ))
    print(line)
}
