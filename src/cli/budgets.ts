import type { Command } from 'commander'
import { managedBudgets, readBudgetStatuses } from '../app/spending/budgets/status.ts'
import {
  type Budget,
  budgetName,
  type Budgets,
  type BudgetSubject,
  subjectName,
} from '../domain/account/budgets.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { formatAmount } from '../kernel/money.ts'
import { currencyOf } from './credit.ts'
import { CommandError, table, UsageError } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'
import { changingWithReason, JSON_OPTION, onStores } from './command.ts'

const SET_HELP = `
A hard budget refuses requests that could exceed it (402); a soft one is reported in the log and in the metric
tollgate_budgets_reached_total. Days and months begin at midnight of the tenant's time zone.

  tollgate budget set --tenant tenant_acme --period month --currency CNY --hard 1000 --soft 800
  tollgate budget set --tenant tenant_acme --user user_ada --period day --currency CNY --hard 50`

/** Registers `tollgate budget …`. */
export function addBudgets(program: Command): void {
  const group = program
    .command('budget')
    .description('how much a tenant, a user or a token may spend in a day or a month')
  const one = (name: string): Command =>
    changingWithReason(group.command(name))
      .requiredOption('--tenant <id>', 'tenant')
      .option('--user <id>', 'of a user instead of the tenant')
      .option('--token <id>', 'of a token instead of the tenant')
      .requiredOption('--currency <code>', 'CNY or USD')
      .requiredOption('--period <period>', 'day or month')
  one('set')
    .description('set or replace one budget; others are unchanged')
    .option('--hard <amount>', 'refuse requests that could exceed it')
    .option('--soft <amount>', 'report when it is reached')
    .option(
      '--time-zone <name>',
      'IANA time zone, such as Asia/Shanghai, of all budgets of the tenant; UTC at first',
    )
    .addHelpText('after', SET_HELP)
    .action(onStores(setBudgetCommand))
  one('remove')
    .description('remove one budget; others are unchanged')
    .action(onStores(removeBudgetCommand))
  group
    .command('list')
    .description('budgets of a tenant, with their spending')
    .requiredOption('--tenant <id>', 'tenant')
    .option(...JSON_OPTION)
    .action(onStores(listBudgetsCommand))
}

/** Options that identify a budget of a tenant. */
interface OfBudget extends OfTenant {
  readonly user?: string
  readonly token?: string
  readonly currency: string
  readonly period: string
}

const commands = settingCommands(managedBudgets, view)

/** `tollgate budget list` */
const listBudgetsCommand = commands.show

/** `tollgate budget set` */
async function setBudgetCommand(
  session: Session,
  options: OfBudget & {
    readonly hard?: string
    readonly soft?: string
    readonly timeZone?: string
  },
): Promise<void> {
  const { hard, soft, timeZone } = options
  if ((hard ?? soft) === undefined) throw new UsageError('give --hard, --soft, or both')
  const budget = {
    ...namedBudget(options),
    ...(hard === undefined ? {} : { hard }),
    ...(soft === undefined ? {} : { soft }),
  }
  await commands.change(session, options, (before) => {
    return { timeZone, budgets: [...others(before, budget), budget] }
  })
}

/** `tollgate budget remove` */
async function removeBudgetCommand(session: Session, options: OfBudget): Promise<void> {
  const named = namedBudget(options)
  await commands.change(session, options, (before) => {
    const budgets = others(before, named)
    if (budgets.length === before.budgets.length)
      throw new CommandError('this budget does not exist')
    return { budgets }
  })
}

async function view({ pool }: Session, tenantId: string, value: Budgets) {
  const { budgets, timeZone, revision } = await readBudgetStatuses(
    pool,
    tenantId,
    value,
    systemClock.nowMs(),
  )
  const shown = budgets.map(({ subject, current, spentPico, leftPico, ...budget }) => ({
    subject: subjectName(subject),
    ...budget,
    spent: formatAmount(spentPico),
    left: leftPico === undefined ? undefined : formatAmount(leftPico),
    until: toTimestamp(current.toMs),
  }))
  const count = budgets.length === 1 ? '1 budget' : `${budgets.length} budgets`
  const rows = shown.map((one) => [
    one.subject,
    one.currency,
    one.period,
    one.hard ?? '',
    one.soft === undefined ? '' : `${one.soft}${one.softReached ? ' reached' : ''}`,
    one.spent,
    one.left ?? '',
    one.until,
  ])
  const columns = ['whose', 'currency', 'a', 'hard', 'soft', 'spent', 'left', 'until']
  return {
    json: { tenantId, revision, timeZone, budgets: shown },
    lines: [
      `${tenantId}: ${count} by the days of ${timeZone} (revision ${revision})`,
      ...(rows.length === 0 ? [] : table(columns, rows)),
    ],
  }
}

function namedBudget({ user, token, currency, period }: OfBudget): Omit<Budget, 'hard' | 'soft'> {
  if (user !== undefined && token !== undefined)
    throw new UsageError('--user and --token cannot be combined')
  if (period !== 'day' && period !== 'month') throw new UsageError('--period must be day or month')
  return { subject: subjectOf(user, token), currency: currencyOf(currency), period }
}

function subjectOf(userId: string | undefined, tokenId: string | undefined): BudgetSubject {
  if (userId !== undefined) return { kind: 'user', userId }
  return tokenId === undefined ? { kind: 'tenant' } : { kind: 'token', tokenId }
}

function others({ budgets }: Budgets, named: Omit<Budget, 'hard' | 'soft'>): readonly Budget[] {
  return budgets.filter((one) => budgetName(one) !== budgetName(named))
}
