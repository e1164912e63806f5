import { setBudgets } from '../app/spending/budgets/manage.ts'
import { standing } from '../app/spending/budgets/standing.ts'
import { readSettings } from '../app/accounts/account-facts.ts'
import {
  type Budget,
  type Budgets,
  budgetName,
  type BudgetSubject,
  budgets as setting,
  subjectName,
} from '../domain/account/budgets.ts'
import { systemClock, toTimestamp } from '../kernel/clock.ts'
import { formatAmount } from '../kernel/money.ts'
import { type ActorOption, depsOf } from './access.ts'
import { currencyOf } from './credit.ts'
import { CommandError, note, print, table, toJson } from './output.ts'
import type { Session } from './session.ts'

interface OfTenant extends ActorOption {
  readonly tenant: string
  readonly json?: boolean
}

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
  await show(session, options, await budgetsOf(session, options.tenant))
}

async function change(
  session: Session,
  options: OfTenant & { readonly timeZone?: string },
  next: (before: readonly Budget[]) => readonly Budget[],
): Promise<void> {
  const before = await budgetsOf(session, options.tenant)
  const { changed, position, said } = await setBudgets(depsOf(session, options), session.pool, {
    tenantId: options.tenant,
    timeZone: options.timeZone,
    budgets: next(before.budgets),
    // What is changed is what was looked at.
    basis: before.revision,
  })
  if (!changed) note('they were so before')
  await show(session, options, said)
  await session.projected('timeline', position)
}

async function show(session: Session, options: OfTenant, said: Budgets): Promise<void> {
  const { tenant, json } = options
  const { budgets, timeZone, revision } = await standing(
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

async function budgetsOf({ log }: Session, tenantId: string): Promise<Budgets> {
  return (await readSettings(log, tenantId)).budgets ?? setting.none
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
