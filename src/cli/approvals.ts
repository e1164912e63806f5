import type { Command } from 'commander'
import { managedApprovals } from '../app/accounts/settings.ts'
import { MAX_LAPSE_HOURS } from '../domain/account/approvals.ts'
import { currencyOf } from './credit.ts'
import { UsageError } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
Above the limit of its currency a grant, an adjustment or a higher credit limit is only proposed, and another user approves it.
So is any lower price of the tenant in that currency, and a higher limit than the one that is set, or none (tollgate credit proposals).
The sum is of what one person granted, adjusted, raised credit limits by and has open proposals for in the last 24 hours. All shells together are one person.

  tollgate approvals set --tenant tenant_acme --currency CNY --above 1000
  tollgate approvals set --tenant tenant_acme --currency CNY --above none`

/** Registers `tollgate approvals …`. */
export function addApprovals(program: Command): void {
  const group = program
    .command('approvals')
    .description('above which amounts another user approves grants, adjustments and credit limits')
  changingWithReason(group.command('set'))
    .description('set the named values; others are unchanged')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--currency <code>', 'CNY or USD, with --above')
    .option(
      '--above <amount>',
      'what one person may post, and raise limits by, alone within 24 hours; or none: any',
    )
    .option('--lapse-hours <hours>', 'how long a proposal can be approved, from 1 to 720')
    .addHelpText('after', SET_HELP)
    .action(onStores(setApprovalsCommand))
  group
    .command('show')
    .description('the limits of a tenant')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(commands.show))
}

const commands = settingCommands(
  managedApprovals,
  (_session, tenantId, { revision, limits, lapseHours }) => ({
    json: { tenantId, revision, limits, lapseHours },
    lines: [
      `${tenantId}: approvals (revision ${revision})`,
      `above: ${limits.length === 0 ? 'none' : limits.map((of) => `${of.above} ${of.currency}`).join(', ')}`,
      `proposals lapse after ${lapseHours} h`,
    ],
  }),
)

interface ApprovalsOptions extends OfTenant {
  readonly currency?: string
  readonly above?: string
  readonly lapseHours?: string
}

/** `tollgate approvals set` */
async function setApprovalsCommand(session: Session, options: ApprovalsOptions): Promise<void> {
  const { above } = options
  if ((options.currency === undefined) !== (above === undefined))
    throw new UsageError('--currency and --above must be given together')
  if (above === undefined && options.lapseHours === undefined)
    throw new UsageError('name --currency with --above, or --lapse-hours: nothing else can be set')
  const hours = options.lapseHours
  if (hours !== undefined && !(/^[1-9]\d{0,2}$/.test(hours) && Number(hours) <= MAX_LAPSE_HOURS))
    throw new UsageError(`--lapse-hours must be a whole number from 1 to ${MAX_LAPSE_HOURS}`)
  const currency = options.currency === undefined ? undefined : currencyOf(options.currency)
  await commands.change(session, options, (now) => {
    const others = now.limits.filter((one) => one.currency !== currency)
    const own =
      currency === undefined || above === undefined || above === 'none' ? [] : [{ currency, above }]
    return {
      limits: currency === undefined ? now.limits : [...others, ...own],
      lapseHours: hours === undefined ? now.lapseHours : Number(hours),
    }
  })
}
