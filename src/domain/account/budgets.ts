import { DomainError } from '../../kernel/errors.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { TimeZone } from '../../kernel/time-zone.ts'
import { canonicalAmount } from './amount.ts'
import type { AccountEvent, AccountEventData } from './events.ts'

/** Whose spending a budget bounds: all of the tenant's, or what a user or a token of it spends. */
export type BudgetSubject =
  | { readonly kind: 'tenant' }
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'token'; readonly tokenId: string }

/** How much may be spent in a day or a month of the tenant's time zone. */
export interface Budget {
  readonly subject: BudgetSubject
  readonly currency: Currency
  readonly period: 'day' | 'month'
  /** Decimal string: nothing is started that could go beyond it. */
  readonly hard?: string | undefined
  /** Decimal string: it is said that it was reached. */
  readonly soft?: string | undefined
}

/** All budgets of a tenant. */
export interface Budgets {
  readonly revision: number
  /** Of the IANA database: when its days and months begin. */
  readonly timeZone: string
  readonly budgets: readonly Budget[]
}

/** What a tenant's budgets shall be from now on: all of them, not a change of some. */
export interface SetBudgets {
  readonly kind: 'set-budgets'
  readonly tenantId: string
  readonly timeZone: string
  /** Of a subject, currency and period one each. */
  readonly budgets: readonly Budget[]
  /** The revision that was looked at, 0 for none; absent: nobody looked. */
  readonly basis?: number | undefined
  /** RFC 3339. */
  readonly at: string
}

/** Keeps the event well under the log's 1 MiB an append. */
export const MAX_BUDGETS = 1_000

/** Before any were set. */
export const noBudgets: Budgets = { revision: 0, timeZone: 'UTC', budgets: [] }

/** A subject in one word, told apart from every other of the tenant. */
export function subjectName(subject: BudgetSubject): string {
  switch (subject.kind) {
    case 'tenant':
      return 'tenant'
    case 'user':
      return `user ${subject.userId}`
    case 'token':
      return `token ${subject.tokenId}`
  }
}

/** What a tenant has one budget each of. */
export const budgetName = ({
  subject,
  currency,
  period,
}: Pick<Budget, 'subject' | 'currency' | 'period'>): string =>
  `${subjectName(subject)} ${currency} ${period}`

/** The budgets that an event sets. */
export function budgetsOf({
  revision,
  timeZone,
  budgets,
}: AccountEventData<'BudgetsSet'>): Budgets {
  return { revision, timeZone, budgets }
}

/** Whether both are the same budgets; their order says nothing. */
export function sameBudgets(a: readonly Budget[], b: readonly Budget[]): boolean {
  const said = (all: readonly Budget[]): string =>
    all
      .map((budget) => `${budgetName(budget)} ${budget.hard ?? '-'} ${budget.soft ?? '-'}`)
      .sort()
      .join('\n')
  return said(a) === said(b)
}

/**
 * Setting the same budgets again decides to no event.
 *
 * @throws DomainError `budgets_invalid`, `budgets_changed` when they were set since it was looked at
 */
export function setBudgets(
  { tenantId, timeZone, budgets, basis, at }: SetBudgets,
  current: Budgets = noBudgets,
): readonly AccountEvent[] {
  const { revision } = current
  checkTimeZone(timeZone)
  if (budgets.length > MAX_BUDGETS) refuse('budgets', `at most ${MAX_BUDGETS} of one tenant`)
  const next = budgets.map((budget, index) => canonical(budget, `budgets/${index}`))
  const names = next.map(budgetName)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) refuse('budgets', `two of ${twice}`)
  // Also of a basis that is past: whoever sends it again has not seen the answer.
  if (timeZone === current.timeZone && sameBudgets(next, current.budgets)) return []
  if (basis !== undefined && basis !== revision)
    throw new DomainError(
      'budgets_changed',
      `the budgets of this tenant were set in the meantime, to revision ${revision}: look at them again`,
      { tenantId, revision },
    )
  const data = { tenantId, revision: revision + 1, timeZone, budgets: next, setAt: at }
  return [{ type: 'BudgetsSet', data }]
}

function canonical(budget: Budget, at: string) {
  const { subject, currency, period } = budget
  const hard = budget.hard === undefined ? undefined : amountOf(budget.hard, `${at}/hard`)
  const soft = budget.soft === undefined ? undefined : amountOf(budget.soft, `${at}/soft`)
  if (hard === undefined && soft === undefined) refuse(at, 'says neither hard nor soft')
  if (hard !== undefined && soft !== undefined && parseAmount(soft) > parseAmount(hard))
    refuse(`${at}/soft`, 'is beyond hard, and would never be reached')
  return {
    subject,
    currency,
    period,
    ...(hard === undefined ? {} : { hard }),
    ...(soft === undefined ? {} : { soft }),
  }
}

function amountOf(text: string, at: string): string {
  const amount = canonicalAmount(text)
  return parseAmount(amount) < 0n ? refuse(at, 'must not be negative') : amount
}

function checkTimeZone(name: string): void {
  try {
    TimeZone.named(name)
  } catch {
    refuse('time_zone', 'is no zone of the IANA database, such as Europe/Berlin')
  }
}

function refuse(param: string, message: string): never {
  throw new DomainError('budgets_invalid', `${param}: ${message}`, { param })
}
