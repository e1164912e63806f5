import { managedBudgets, readBudgetStatuses } from '../app/spending/budgets/status.ts'
import {
  type Budget,
  type Budgets,
  budgetName,
  type BudgetSubject,
  subjectName,
} from '../domain/account/budgets.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { formatAmount } from '../kernel/money.ts'
import { currencyOf } from './credit.ts'
import { CommandError, print, table, toJson } from './output.ts'
import type { Session } from './session.ts'
import { changeSetting, type OfTenant, readSetting } from './settings.ts'

/** Which budget of a tenant. */
interface OfBudget extends OfTenant {
  readonly user?: string
  readonly token?: string
  readonly currency: string
  readonly period: string
}

/** `tollgate budget set` */
export async function setBudgetCommand(
  session: Session,
  options: OfBudget & {
    readonly hard?: string
    readonly soft?: string
    readonly timeZone?: string
  },
): Promise<void> {
  const { hard, soft } = options
  if ((hard ?? soft) === undefined) throw new CommandError('say --hard, --soft, or both')
  const said = {
    ...namedBudget(options),
    ...(hard === undefined ? {} : { hard }),
    ...(soft === undefined ? {} : { soft }),
  }
  await change(session, options, (before) => [...others(before, said), said])
}

/** `tollgate budget remove` */
export async function removeBudgetCommand(session: Session, options: OfBudget): Promise<void> {
  const named = namedBudget(options)
  await change(session, options, (before) => {
    const left = others(before, named)
    if (left.length === before.length) throw new CommandError('there is no such budget')
    return left
  })
}

/** `tollgate budget list` */
export async function listBudgetsCommand(session: Session, options: OfTenant): Promise<void> {
  await show(session, options, await readSetting(session, options, 'budgets'))
}

function change(
  session: Session,
  options: OfTenant & { readonly timeZone?: string },
  next: (before: readonly Budget[]) => readonly Budget[],
): Promise<void> {
  return changeSetting(session, options, managedBudgets, {
    next: ({ budgets }) => ({ timeZone: options.timeZone, budgets: next(budgets) }),
    show: (budgets) => show(session, options, budgets),
  })
}

async function show(session: Session, options: OfTenant, said: Budgets): Promise<void> {
  const { tenant, json } = options
  const { budgets, timeZone, revision } = await readBudgetStatuses(
    session.pool,
    tenant,
    said,
    systemClock.nowMs(),
  )
  const shown = budgets.map(({ subject, current, spentPico, leftPico, ...budget }) => ({
    subject: subjectName(subject),
    ...budget,
    spent: formatAmount(spentPico),
    left: leftPico === undefined ? undefined : formatAmount(leftPico),
    until: toTimestamp(current.toMs),
  }))
  if (json) return print(toJson({ tenantId: tenant, revision, timeZone, budgets: shown }))
  const count = budgets.length === 1 ? '1 budget' : `${budgets.length} budgets`
  print(`${tenant}: ${count} by the days of ${timeZone} (revision ${revision})`)
  if (budgets.length === 0) return
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
  for (const line of table(columns, rows)) print(line)
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

function others(
  budgets: readonly Budget[],
  named: Omit<Budget, 'hard' | 'soft'>,
): readonly Budget[] {
  return budgets.filter((one) => budgetName(one) !== budgetName(named))
}
