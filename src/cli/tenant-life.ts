import type { Command } from 'commander'
import { renameUser } from '../app/accounts/users.ts'
import { managedName } from '../app/accounts/settings.ts'
import { managedStatus } from '../app/accounts/managed-status.ts'
import {
  CLOSED_READ_DAYS,
  type TenantStatusName,
  type WantedTenantStatus,
} from '../domain/account/status.ts'
import type { SettingValueOf } from '../domain/account/settings.ts'
import { changing, depsOf, JSON_OPTION, onStores, requireTenant } from './command.ts'
import { note, print, show } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'

const SUSPEND_HELP = `
Calls and creations of all its tokens are refused from now on, with the reason, on every replica. Its tasks under way go on
and are billed; its users still read results, usage and receipts. "tollgate tenant resume" ends it.

  tollgate tenant suspend tenant_acme --reason 'invoice INV-77 is overdue'
  tollgate tenant resume tenant_acme`

const CLOSE_HELP = `
Closing is final, and only a suspended tenant is closed, once no task or call of it holds money. Its tokens read results and figures for
${CLOSED_READ_DAYS} more days; the log keeps everything.

  tollgate tenant suspend tenant_acme --reason 'contract ends'
  tollgate tenant close tenant_acme --reason 'contract ended on 30 November'`

const USER_HELP = `
The tokens of the user begin nothing from now on; tasks under way go on. Tokens of other users go on.

  tollgate tenant suspend-user ann --tenant tenant_acme --reason 'left the company'
  tollgate tenant resume-user ann --tenant tenant_acme`

/** The options of a command on a status. */
interface StatusOptions extends Omit<OfTenant, 'tenant'> {
  readonly reason?: string
}

/** Registers the commands on the life of a tenant in `tollgate tenant …`. */
export function addTenantLife(group: Command): void {
  group
    .command('status')
    .description('whether a tenant is open, suspended or closed, and its suspended users')
    .argument('<tenant>')
    .option(...JSON_OPTION)
    .action(onTenant((session, options) => status.show(session, options)))
  const step = (name: string, description: string, to: TenantStatusName, help: string) => {
    const command = changing(group.command(name)).description(description).argument('<tenant>')
    if (to === 'open') command.option('--reason <text>', 'why', '')
    else command.requiredOption('--reason <text>', 'why; callers that are refused read it')
    command.addHelpText('after', help).action(
      onTenant((session, options) =>
        status.change(session, options, () => ({
          tenant: { status: to, reason: options.reason ?? '' },
        })),
      ),
    )
  }
  step('suspend', 'refuse calls and creations of a tenant', 'suspended', SUSPEND_HELP)
  step('resume', 'allow calls and creations of a suspended tenant again', 'open', SUSPEND_HELP)
  step('close', 'close a suspended tenant for good', 'closed', CLOSE_HELP)
  changing(group.command('rename'))
    .description('rename a tenant; its id stays')
    .argument('<tenant>')
    .argument('<name>')
    .action(
      onStores(async (session: Session, tenant: string, name: string, options: StatusOptions) => {
        await requireTenant(session, tenant)
        await names.change(session, { ...options, tenant }, () => ({ name }))
      }),
    )
  addUserLife(group)
}

function addUserLife(group: Command): void {
  changing(group.command('suspend-user'))
    .description('refuse calls and creations of the tokens of a user')
    .argument('<user>')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--reason <text>', 'why; callers that are refused read it')
    .addHelpText('after', USER_HELP)
    .action(
      onStores((session: Session, userId: string, options: OfTenant & { reason: string }) =>
        changeUser(session, options, { userId, reason: options.reason }),
      ),
    )
  changing(group.command('resume-user'))
    .description('allow calls and creations of a suspended user again')
    .argument('<user>')
    .requiredOption('--tenant <id>', 'tenant')
    .addHelpText('after', USER_HELP)
    .action(
      onStores((session: Session, userId: string, options: OfTenant) =>
        changeUser(session, options, { userId, reason: undefined }),
      ),
    )
  changing(group.command('rename-user'))
    .description('rename a user; its id stays')
    .argument('<user>')
    .argument('<name>')
    .requiredOption('--tenant <id>', 'tenant')
    .action(onStores(renameUserCommand))
}

/** The action of a command whose first argument is a tenant, which must exist. */
function onTenant(run: (session: Session, options: StatusOptions & OfTenant) => Promise<void>) {
  return onStores(async (session: Session, tenant: string, options: StatusOptions) => {
    await requireTenant(session, tenant)
    await run(session, { ...options, tenant })
  })
}

const changeUser = (
  session: Session,
  options: OfTenant,
  user: NonNullable<WantedTenantStatus['user']>,
): Promise<void> => status.change(session, options, () => ({ user }))

/** A status as lines for people. */
function linesOf(tenantId: string, value: SettingValueOf<'status'>): readonly string[] {
  const { reason, since, suspendedUsers } = value
  return [
    `${tenantId}: ${value.status}${since === undefined ? '' : ` since ${since}`} (revision ${value.revision})`,
    ...(reason === '' ? [] : [`reason: ${reason}`]),
    ...suspendedUsers.map((user) => `suspended user ${user.userId}: ${user.reason}`),
  ]
}

const status = settingCommands(managedStatus, (_session, tenantId, value) => ({
  json: { tenantId, ...value },
  lines: linesOf(tenantId, value),
}))

const names = settingCommands(managedName, (_session, tenantId, { revision, name }) => ({
  json: { tenantId, revision, name },
  lines: [`${tenantId}: ${name} (revision ${revision})`],
}))

/** `tollgate tenant rename-user` */
async function renameUserCommand(
  session: Session,
  userId: string,
  name: string,
  options: OfTenant,
): Promise<void> {
  const { tenant: tenantId } = options
  const deps = depsOf(session, options)
  const { changed, position } = await renameUser(deps, { tenantId, userId, name })
  if (!changed) note('unchanged')
  if (options.json) show({ tenantId, userId, name }, true)
  else print(`${tenantId}/${userId}: ${name}`)
  await session.projected('access', position)
}
