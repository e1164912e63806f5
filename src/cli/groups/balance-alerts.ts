import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const alerts = () => import('../balance-alerts.ts')

const SET_HELP = `
A balance is low when less is left of it than that, holds not taken off. The gateway reports it in the log and in the
metric tollgate_low_balances, and sends it to the webhook: once, and again only after it was not low. Webhooks are
signed as Standard Webhooks says; show prints the secret.

  tollgate balance-alert set --tenant tenant_acme --currency CNY --below 100 --webhook https://hooks.example.com/low`

/** Registers `tollgate balance-alert …`. */
export function addBalanceAlerts(program: Command): void {
  const group = program
    .command('balance-alert')
    .description('when and where a tenant is notified of a low balance')
  changing(group.command('set'))
    .description('set what is named; the rest stays')
    .requiredOption('--tenant <id>', 'tenant')
    .option('--currency <code>', 'CNY or USD, with --below')
    .option('--below <amount>', 'less than that is low')
    .option('--webhook <url>', 'https:// URL that is notified, or none')
    .option('--rotate-secret', 'sign with another secret, and with the one before as well')
    .addHelpText('after', SET_HELP)
    .action(onStores(async () => (await alerts()).setBalanceAlertCommand))
  changing(group.command('remove'))
    .description('remove the alert of one currency')
    .requiredOption('--tenant <id>', 'tenant')
    .requiredOption('--currency <code>', 'CNY or USD')
    .action(onStores(async () => (await alerts()).removeBalanceAlertCommand))
  group
    .command('show')
    .description('the alerts of a tenant, the secret of its webhook, and which balances are low')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await alerts()).showBalanceAlertsCommand))
}
