import type { Command } from 'commander'
import { changing, JSON_OPTION, onStores } from '../command.ts'

const budgets = () => import('../budgets.ts')

const SET_HELP = `
A hard budget refuses what could go beyond it (402), a soft one is reported in the log and in the metric
tollgate_budgets_reached_total. Days and months begin at midnight of the tenant's time zone.

  tollgate budget set --tenant tenant_acme --period month --currency CNY --hard 1000 --soft 800
  tollgate budget set --tenant tenant_acme --user user_ada --period day --currency CNY --hard 50`

/** Registers `tollgate budget …`. */
export function addBudgets(program: Command): void {
  const group = program
    .command('budget')
    .description('how much a tenant, a user or a token may spend in a day or a month')
  const one = (name: string): Command =>
    changing(group.command(name))
      .requiredOption('--tenant <id>', 'tenant')
      .option('--user <id>', 'of a user, not of all the tenant')
      .option('--token <id>', 'of a token, not of all the tenant')
      .requiredOption('--currency <code>', 'CNY or USD')
      .requiredOption('--period <period>', 'day or month')
  one('set')
    .description('set one budget, whatever it was; the others stay')
    .option('--hard <amount>', 'nothing is started that could go beyond it')
    .option('--soft <amount>', 'the gateway reports that it was reached')
    .option(
      '--time-zone <name>',
      'IANA zone with a slash of all budgets of the tenant; UTC at first',
    )
    .addHelpText('after', SET_HELP)
    .action(onStores(async () => (await budgets()).setBudgetCommand))
  one('remove')
    .description('remove one budget; the others stay')
    .action(onStores(async () => (await budgets()).removeBudgetCommand))
  group
    .command('list')
    .description('budgets of a tenant, and what is spent of them')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(async () => (await budgets()).listBudgetsCommand))
}
