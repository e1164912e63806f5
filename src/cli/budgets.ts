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
import { CommandError, table } from './output.ts'
import type { Session } from './session.ts'
import { type OfTenant, settingCommands } from './settings.ts'

/** Which budget of a tenant. */
interface OfBudget extends OfTenant {
  readonly user?: string
  readonly token?: string
  readonly currency: string
  readonly period: string
}

const commands = settingCommands(managedBudgets, view)

/** `tollgate budget list` */
export const listBudgetsCommand = commands.show

/** `tollgate budget set` */
export async function setBudgetCommand(
  session: Session,
  options: OfBudget & {
    readonly hard?: string
    readonly soft?: string
    readonly timeZone?: string
  },
): Promise<void> {
  const { hard, soft, timeZone } = options
  if ((hard ?? soft) === undefined) throw new CommandError('say --hard, --soft, or both')
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
export async function removeBudgetCommand(session: Session, options: OfBudget): Promise<void> {
  const named = namedBudget(options)
  await commands.change(session, options, (before) => {
    const budgets = others(before, named)
    if (budgets.length === before.budgets.length) throw new CommandError('there is no such budget')
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
    throw new CommandError('a budget is of --user, of --token, or of the tenant')
  if (period !== 'day' && period !== 'month')
    throw new CommandError('--period must be day or month')
  return { subject: subjectOf(user, token), currency: currencyOf(currency), period }
}

function subjectOf(userId: string | undefined, tokenId: string | undefined): BudgetSubject {
  if (userId !== undefined) return { kind: 'user', userId }
  return tokenId === undefined ? { kind: 'tenant' } : { kind: 'token', tokenId }
}

function others({ budgets }: Budgets, named: Omit<Budget, 'hard' | 'soft'>): readonly Budget[] {
  return budgets.filter((one) => budgetName(one) !== budgetName(named))
}
