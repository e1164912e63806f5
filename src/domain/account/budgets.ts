import { type Currency, parseAmount } from '../../kernel/money.ts'
import { TimeZone } from '../../kernel/time-zone.ts'
import { canonicalAmount } from './amount.ts'
import type { AccountEventData } from './events.ts'
import { type AccountSetting, invalidSetting, repeated, unordered } from './setting.ts'

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
  /** Decimal string: the gateway reports when it is reached. */
  readonly soft?: string | undefined
}

/** All budgets of a tenant. */
export interface Budgets {
  readonly revision: number
  /** Of the IANA database: when its days and months begin. */
  readonly timeZone: string
  readonly budgets: readonly Budget[]
}

/** The budgets a tenant shall have: all of them. */
export interface WantedBudgets {
  /** Undefined: as it is. */
  readonly timeZone?: string | undefined
  /** Of a subject, currency and period one each. */
  readonly budgets: readonly Budget[]
}

/** Keeps the event well under the log's 1 MiB an append. */
export const MAX_BUDGETS = 1_000

/** A subject in one word, unique within the tenant. */
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

const refuse: (param: string, message: string) => never = invalidSetting('budgets')

export const budgets: AccountSetting<
  Budgets,
  WantedBudgets,
  Pick<AccountEventData<'BudgetsSet'>, 'timeZone' | 'budgets'>
> = {
  code: 'budgets',
  title: 'budgets',
  none: { revision: 0, timeZone: 'UTC', budgets: [] },
  read: (event) => {
    if (event.type !== 'BudgetsSet') return undefined
    const { revision, timeZone, budgets: all } = event.data
    return { revision, timeZone, budgets: all }
  },
  event: (data) => ({ type: 'BudgetsSet', data }),
  canonical: ({ timeZone: named, budgets: wanted }, now) => {
    const timeZone = named ?? now.timeZone
    checkTimeZone(timeZone)
    if (wanted.length > MAX_BUDGETS) refuse('budgets', `at most ${MAX_BUDGETS} of one tenant`)
    const next = wanted.map((budget, index) => canonical(budget, `budgets/${index}`))
    const twice = repeated(next.map(budgetName))
    if (twice !== undefined) refuse('budgets', `two of ${twice}`)
    return { timeZone, budgets: next }
  },
  fingerprint: ({ timeZone, budgets: all }) => `${timeZone}\n${linesOf(all)}`,
  /** Budgets of users and tokens are the administrator's. */
  operatorsOnly: ({ timeZone, budgets: wanted }, now) => {
    if (timeZone !== undefined && timeZone !== now.timeZone)
      return { param: 'time_zone', message: 'The time zone is set by an operator alone' }
    if (linesOf(wanted.filter(isOfTenant)) === linesOf(now.budgets.filter(isOfTenant)))
      return undefined
    const message = 'Budgets of the tenant itself stay as they are: an operator sets them'
    return { param: 'budgets', message }
  },
}

const isOfTenant = ({ subject }: Budget): boolean => subject.kind === 'tenant'

function linesOf(all: readonly Budget[]): string {
  return unordered(
    all.map((budget) => `${budgetName(budget)} ${budget.hard ?? '-'} ${budget.soft ?? '-'}`),
  )
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
