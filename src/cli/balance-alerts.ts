import {
  managedBalanceAlerts,
  type ShownBalanceAlerts,
  showBalanceAlerts,
} from '../app/accounts/alerts/manage.ts'
import type { BalanceAlerts } from '../domain/account/balance-alerts.ts'
import { toTimestamp } from '../kernel/clock.ts'
import { currencyOf } from './credit.ts'
import { markerSecretOf } from './marker-secret.ts'
import { CommandError, table } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'

interface AlertOptions extends OfTenant {
  readonly currency?: string
  readonly below?: string
  readonly webhook?: string
  readonly rotateSecret?: boolean
}

const commands = settingCommands(managedBalanceAlerts, view)

/** `tollgate balance-alert show` */
export const showBalanceAlertsCommand = commands.show

/** `tollgate balance-alert set` */
export async function setBalanceAlertCommand(
  session: Session,
  options: AlertOptions,
): Promise<void> {
  const { currency, below, webhook, rotateSecret } = options
  if ((currency === undefined) !== (below === undefined))
    throw new CommandError('--currency goes with --below')
  if (below === undefined && webhook === undefined && rotateSecret === undefined)
    throw new CommandError('say --currency and --below, --webhook, --rotate-secret')
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
export async function removeBalanceAlertCommand(
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
