import { type Static, Type } from '@sinclair/typebox'
import { parseAmount } from '../../kernel/money.ts'
import { readZone } from '../../kernel/read-zone.ts'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'
import { canonicalAmount } from './amount.ts'
import {
  accountSetting,
  invalidSetting,
  repeated,
  type SettingValue,
  unordered,
} from './setting.ts'

const BudgetSubjectSchema = Type.Union([
  Type.Object({ kind: Type.Literal('tenant') }),
  Type.Object({ kind: Type.Literal('user'), userId: Type.String() }),
  Type.Object({ kind: Type.Literal('token'), tokenId: Type.String() }),
])

/** At least one of `hard` and `soft`. */
const BudgetSchema = Type.Object({
  subject: BudgetSubjectSchema,
  currency: CurrencySchema,
  period: Type.Union([Type.Literal('day'), Type.Literal('month')]),
  /** Requests that could exceed it are refused. */
  hard: Type.Optional(DecimalSchema),
  /** The gateway reports when it is reached. */
  soft: Type.Optional(DecimalSchema),
})

/** Subject of a budget: the whole tenant, a user, or a token. */
export type BudgetSubject = Static<typeof BudgetSubjectSchema>
/** The bounds of spending in a day or a month of the tenant's time zone. */
export type Budget = Static<typeof BudgetSchema>
/** All budgets of a tenant. */
export type Budgets = SettingValue<typeof budgets>

/** The budgets a tenant shall have: all of them. */
export interface WantedBudgets {
  /** Undefined: unchanged. */
  readonly timeZone?: string | undefined
  /** At most one per subject, currency and period. */
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

/** Identifies a budget: a tenant has at most one per subject, currency and period. */
export const budgetName = ({
  subject,
  currency,
  period,
}: Pick<Budget, 'subject' | 'currency' | 'period'>): string =>
  `${subjectName(subject)} ${currency} ${period}`

const refuse: (param: string, message: string) => never = invalidSetting('budgets')

export const budgets = accountSetting({
  code: 'budgets',
  title: 'budgets',
  type: 'BudgetsSet',
  takesReason: true,
  terms: {
    /** A name of the IANA database: days and months begin at its midnights. */
    timeZone: Type.String(),
    /** All budgets of the tenant; those that are absent are removed. */
    budgets: Type.Array(BudgetSchema),
  },
  none: { timeZone: 'UTC', budgets: [] },
  canonical: ({ timeZone: named, budgets: wanted }: WantedBudgets, now) => {
    const timeZone = named ?? now.timeZone
    if (timeZone !== now.timeZone) checkTimeZone(timeZone)
    if (wanted.length > MAX_BUDGETS) refuse('budgets', `at most ${MAX_BUDGETS} of one tenant`)
    const next = wanted.map((budget, index) => canonical(budget, `budgets[${index}]`))
    const twice = repeated(next.map(budgetName))
    if (twice !== undefined) refuse('budgets', `two of ${twice}`)
    return { timeZone, budgets: next }
  },
  fingerprint: ({ timeZone, budgets: all }) => `${timeZone}\n${linesOf(all)}`,
  /** Budgets of users and tokens are the administrator's. */
  operatorsOnly: ({ timeZone, budgets: wanted }, now) => {
    if (timeZone !== undefined && timeZone !== now.timeZone)
      return { param: 'time_zone', message: 'Only an operator sets the time zone' }
    if (linesOf(wanted.filter(isOfTenant)) === linesOf(now.budgets.filter(isOfTenant)))
      return undefined
    const message = 'Only an operator changes the budgets of the tenant itself'
    return { param: 'budgets', message }
  },
  words: ({ revision, budgets: all, timeZone }) =>
    `${all.length === 1 ? '1 budget' : `${all.length} budgets`} by the days of ${timeZone} (${revision})`,
})

const isOfTenant = ({ subject }: Budget): boolean => subject.kind === 'tenant'

function linesOf(all: readonly Budget[]): string {
  return unordered(
    all.map((budget) => `${budgetName(budget)} ${budget.hard ?? '-'} ${budget.soft ?? '-'}`),
  )
}

function canonical(budget: Budget, at: string) {
  const { subject, currency, period } = budget
  const hard = budget.hard === undefined ? undefined : amountOf(budget.hard, `${at}.hard`)
  const soft = budget.soft === undefined ? undefined : amountOf(budget.soft, `${at}.soft`)
  if (hard === undefined && soft === undefined) refuse(at, 'needs hard, soft or both')
  if (hard !== undefined && soft !== undefined && parseAmount(soft) > parseAmount(hard))
    refuse(`${at}.soft`, 'is above hard, so that it would never be reached')
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
  const read = readZone(name)
  if ('fault' in read) refuse('time_zone', read.fault)
}
