import type { Command } from 'commander'
import { managedReporting } from '../app/accounts/settings.ts'
import { UsageError } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
A request names its tags in the header x-tollgate-tags or in "metadata" or "labels", and its end user in
x-tollgate-end-user or in "user" or "safety_identifier". Only what is declared here is recorded, from now on, and it is never erased: the log has no erasure.

  tollgate reporting set --tenant tenant_acme --tags project,team
  tollgate reporting set --tenant tenant_acme --tags none --end-user yes`

/** Registers `tollgate reporting …`. */
export function addReporting(program: Command): void {
  const group = program
    .command('reporting')
    .description('tags and end users that are recorded of the requests of a tenant')
  changingWithReason(group.command('set'))
    .description('set the named values; others are unchanged')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--tags <keys>', 'keys of tags, with commas between; or none')
    .option('--end-user <yes|no>', 'whether end users are recorded')
    .addHelpText('after', SET_HELP)
    .action(onStores(setReportingCommand))
  group
    .command('show')
    .description('what is recorded')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(commands.show))
}

const commands = settingCommands(
  managedReporting,
  (_session, tenantId, { revision, tagKeys, endUser }) => ({
    json: { tenantId, revision, tagKeys, endUser },
    lines: [
      `${tenantId}: reporting (revision ${revision})`,
      `tags: ${tagKeys.length === 0 ? 'none' : tagKeys.join(', ')}`,
      `end users: ${endUser ? 'recorded' : 'not recorded'}`,
    ],
  }),
)

interface ReportingOptions extends OfTenant {
  readonly tags?: string
  readonly endUser?: string
}

/** `tollgate reporting set` */
async function setReportingCommand(session: Session, options: ReportingOptions): Promise<void> {
  const { tags, endUser } = options
  if (tags === undefined && endUser === undefined)
    throw new UsageError('name --tags or --end-user: nothing else can be set')
  if (endUser !== undefined && endUser !== 'yes' && endUser !== 'no')
    throw new UsageError('--end-user must be yes or no')
  const given = tags === 'none' ? [] : tags?.split(',').map((key) => key.trim())
  await commands.change(session, options, (now) => ({
    tagKeys: given ?? now.tagKeys,
    endUser: endUser === undefined ? now.endUser : endUser === 'yes',
  }))
}
