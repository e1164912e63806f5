import type { Command } from 'commander'
import {
  managedBalanceAlerts,
  type ShownBalanceAlerts,
  showBalanceAlerts,
} from '../app/accounts/alerts/manage.ts'
import type { BalanceAlerts } from '../domain/account/balance-alerts.ts'
import { toTimestamp } from '../kernel/clock.ts'
import { currencyOf } from './credit.ts'
import { markerSecretOf } from './marker-secret.ts'
import { CommandError, table, UsageError } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
A balance is low when it is below its threshold; holds are not subtracted. The gateway reports a low balance in the
log and in the metric tollgate_low_balances, and notifies the webhook once, and again only after the balance was not
low. Webhooks are signed by the Standard Webhooks specification; show prints the secret.

  tollgate balance-alert set --tenant tenant_acme --currency CNY --below 100 --webhook https://hooks.example.com/low`

/** Registers `tollgate balance-alert …`. */
export function addBalanceAlerts(program: Command): void {
  const group = program
    .command('balance-alert')
    .description('when and where a tenant is notified of a low balance')
  changingWithReason(group.command('set'))
    .description('set the named values; others are unchanged')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--currency <code>', 'CNY or USD, with --below')
    .option('--below <amount>', 'threshold: a lower balance is low')
    .option('--webhook <url>', 'https:// URL of the webhook, or none')
    .option(
      '--rotate-secret',
      'create a new signing secret; deliveries are signed with the previous one as well',
    )
    .addHelpText('after', SET_HELP)
    .action(onStores(setBalanceAlertCommand))
  changingWithReason(group.command('remove'))
    .description('remove the alert of one currency')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--currency <code>', 'CNY or USD')
    .action(onStores(removeBalanceAlertCommand))
  group
    .command('show')
    .description('the alerts of a tenant, the secret of its webhook, and which balances are low')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(showBalanceAlertsCommand))
}

interface AlertOptions extends OfTenant {
  readonly currency?: string
  readonly below?: string
  readonly webhook?: string
  readonly rotateSecret?: boolean
}

const commands = settingCommands(managedBalanceAlerts, view)

/** `tollgate balance-alert show` */
const showBalanceAlertsCommand = commands.show

/** `tollgate balance-alert set` */
async function setBalanceAlertCommand(session: Session, options: AlertOptions): Promise<void> {
  const { currency, below, webhook, rotateSecret } = options
  if ((currency === undefined) !== (below === undefined))
    throw new UsageError('--currency and --below must be given together')
  if (below === undefined && webhook === undefined && rotateSecret === undefined)
    throw new UsageError(
      'give at least one of --currency with --below, --webhook and --rotate-secret',
    )
  await commands.change(session, options, (before) => {
    const thresholds =
      currency === undefined || below === undefined
        ? before.thresholds
        : [...without(before, currency), { currency: currencyOf(currency), below }]
    const url = webhook === 'none' ? undefined : (webhook ?? before.webhookUrl)
    return { thresholds, webhookUrl: url, rotateSecret: rotateSecret ?? false }
  })
}

/** `tollgate balance-alert remove` */
async function removeBalanceAlertCommand(
  session: Session,
  options: OfTenant & { readonly currency: string },
): Promise<void> {
  await commands.change(session, options, (before) => {
    const thresholds = without(before, options.currency)
    if (thresholds.length === before.thresholds.length)
      throw new CommandError('there is no such alert')
    return { thresholds, webhookUrl: before.webhookUrl, rotateSecret: false }
  })
}

async function view({ config, pool }: Session, tenantId: string, value: BalanceAlerts) {
  const shown = await showBalanceAlerts(pool, await markerSecretOf(config, pool), tenantId, value)
  return { json: shown, lines: linesOf(shown) }
}

function linesOf(shown: ShownBalanceAlerts): readonly string[] {
  const { tenantId, revision, thresholds, webhookUrl, low } = shown
  const lines = [
    `${tenantId}: ${thresholds.length} balance alert${thresholds.length === 1 ? '' : 's'} (revision ${revision})`,
  ]
  if (webhookUrl !== undefined)
    lines.push(`sent to ${webhookUrl}, signed with ${shown.webhookSecret ?? ''}`)
  if (thresholds.length === 0) return lines
  const rows = thresholds.map(({ currency, below }) => {
    const now = low.find((one) => one.currency === currency)
    return [
      currency,
      below,
      now === undefined ? '' : toTimestamp(now.seenAtMs),
      now?.toldAtMs === undefined ? '' : toTimestamp(now.toldAtMs),
      now?.lastFailure ?? '',
    ]
  })
  return [...lines, ...table(['currency', 'below', 'low since', 'notified', 'last failure'], rows)]
}

function without({ thresholds }: BalanceAlerts, currency: string) {
  return thresholds.filter((one) => one.currency !== currencyOf(currency))
}
