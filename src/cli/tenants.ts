import type { Command } from 'commander'
import { listTenants } from '../../projections/access/query.ts'
import { addUser, openTenant } from '../app/accounts/account-commands.ts'
import { usersOf } from '../app/accounts/users.ts'
import { readSetting } from '../app/accounts/settings.ts'
import { note, print, show, table, toJson } from './output.ts'
import type { Session } from './session.ts'
import { type ActorOption, changing, depsOf, JSON_OPTION, LIST_LIMIT, onStores } from './command.ts'
import { addTenantLife } from './tenant-life.ts'

/** Registers `tollgate tenant …`. */
export function addTenants(program: Command): void {
  const group = program.command('tenant').description('tenants')
  changing(group.command('open'))
    .description('open a tenant with its first user')
    .argument('<name>')
    .option('--id <id>', 'id of the tenant instead of a generated one')
    .option('--user <name>', 'name of the first user')
    .action(onStores(openTenantCommand))
  group
    .command('list')
    .description('every tenant, with its status')
    .option(...JSON_OPTION)
    .action(onStores(listTenantsCommand))
  changing(group.command('add-user'))
    .description('add a user to a tenant')
    .argument('<name>')
    .requiredOption('--tenant <id>', 'tenant')
    .option(
      '--id <id>',
      'id of the user instead of a generated one; repeating the command changes nothing',
    )
    .action(onStores(addUserCommand))
  group
    .command('users')
    .description('users of a tenant')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(listUsersCommand))
  addTenantLife(group)
}

async function openTenantCommand(
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
    note('the tenant was already open')
    return show({ tenantId, userId: known.userId }, options.json)
  }
  const user = await addUser(deps, { tenantId, name: options.user ?? name })
  show({ tenantId, userId: user.userId }, options.json)
  await session.projected('access', user.position)
}

/** `tollgate tenant add-user` */
async function addUserCommand(
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
async function listUsersCommand(
  { log, pool: db }: Session,
  options: { tenant: string; json?: boolean },
): Promise<void> {
  const source = { log, db }
  const { suspendedUsers } = await readSetting(source, options.tenant, 'status')
  const reasons = new Map(suspendedUsers.map((one) => [one.userId, one.reason]))
  const users = (await usersOf(source, options.tenant)).map(({ addedAs: _addedAs, ...user }) => ({
    ...user,
    suspended: reasons.get(user.userId) ?? null,
  }))
  if (options.json) return print(toJson(users))
  const rows = users.map(({ userId, name, suspended }) => [
    userId,
    name,
    suspended === null ? '' : `suspended: ${suspended}`,
  ])
  for (const line of table(['user', 'name', ''], rows)) print(line)
}

async function listTenantsCommand(session: Session, options: { json?: boolean }): Promise<void> {
  const tenants = await listTenants(session.pool, { limit: LIST_LIMIT })
  if (options.json) return print(toJson(tenants))
  for (const line of table(
    ['tenant', 'name', 'status'],
    tenants.map((t) => [t.tenantId, t.name, t.status]),
  ))
    print(line)
}
