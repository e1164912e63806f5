import { tokensOfTenant } from '../../../../projections/access/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { Budget, Budgets } from '../../../domain/account/budgets.ts'
import { definitionOf } from '../../../domain/account/settings.ts'
import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../../kernel/money.ts'
import { requireUsers } from '../../accounts/users.ts'
import type { ManagedSetting } from '../../accounts/settings.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import { type Period, periodAt, readSpent, type Spent } from './spent.ts'
import { toTimestamp } from '../../../kernel/clock.ts'

/** A budget and its status in the present period by the ledger, without calls in flight. */
export interface BudgetStatus extends Budget {
  /** The present day or month. */
  readonly current: Period
  /** Settled amounts and the holds of open tasks. */
  readonly spentPico: bigint
  /** Undefined without a hard bound; negative when calls cost more than their holds. */
  readonly leftPico: bigint | undefined
  readonly softReached: boolean
}

export interface BudgetStatuses {
  readonly tenantId: string
  readonly revision: number
  readonly timeZone: string
  readonly budgets: readonly BudgetStatus[]
}

/** Reads the status of budgets from the ledger. */
export async function readBudgetStatuses(
  db: Queryable,
  tenantId: string,
  budgets: Budgets,
  nowMs: number,
): Promise<BudgetStatuses> {
  return (await prepareStatuses(db, tenantId, budgets, nowMs))(budgets)
}

/** Reads what was spent in the present periods of budgets; returns the status of such budgets. */
async function prepareStatuses(
  db: Queryable,
  tenantId: string,
  { timeZone, budgets: read }: Pick<Budgets, 'timeZone' | 'budgets'>,
  nowMs: number,
): Promise<(budgets: Budgets) => BudgetStatuses> {
  const spent = new Map<Budget['period'], { readonly current: Period; readonly spent: Spent }>()
  for (const kind of new Set(read.map(({ period }) => period))) {
    const current = periodAt(kind, timeZone, nowMs)
    spent.set(kind, { current, spent: await readSpent(db, tenantId, current) })
  }
  const statusOf = (budget: Budget): BudgetStatus => {
    const { subject, currency, period, hard, soft } = budget
    const found = spent.get(period)
    invariant(found, `the spending of a ${period} was read`)
    const spentPico = found.spent.of(subject).get(currency) ?? 0n
    return {
      ...budget,
      current: found.current,
      spentPico,
      leftPico: hard === undefined ? undefined : parseAmount(hard) - spentPico,
      softReached: soft !== undefined && spentPico >= parseAmount(soft),
    }
  }
  return ({ revision, timeZone: zone, budgets }) => ({
    tenantId,
    revision,
    timeZone: zone,
    budgets: budgets.map(statusOf),
  })
}

/** The management API returns budgets with their status. */
export const managedBudgets: ManagedSetting<'budgets', BudgetStatuses> = {
  name: 'budgets',
  check: async (deps, tenantId, { budgets }) => {
    const subjects = budgets.map(({ subject }) => subject)
    await requireUsers(
      deps,
      tenantId,
      subjects.flatMap((one) => (one.kind === 'user' ? [one.userId] : [])),
    )
    const tokenIds = subjects.flatMap((one) => (one.kind === 'token' ? [one.tokenId] : []))
    await requireTokens(deps.db, tenantId, tokenIds)
    return []
  },
  prepare: async (deps, tenantId, now, wanted) => {
    // The answer resolves tokens of budgets and shows the amounts spent.
    if (wanted !== undefined) await requireCaughtUp(deps, 'access')
    else if (now.budgets.length > 0) await requireCaughtUp(deps, 'ledger')
    const nowMs = deps.clock.nowMs()
    const { canonical } = definitionOf('budgets')
    const next = wanted === undefined ? now : canonical(wanted, now, toTimestamp(nowMs))
    return prepareStatuses(deps.db, tenantId, next, nowMs)
  },
}

async function requireTokens(
  db: Queryable,
  tenantId: string,
  tokenIds: readonly string[],
): Promise<void> {
  if (tokenIds.length === 0) return
  const known = new Set(await tokensOfTenant(db, tenantId, tokenIds))
  const missing = tokenIds.filter((id) => !known.has(id))
  if (missing.length === 0) return
  const words = `the tenant has no token ${missing.slice(0, 10).join(', ')}`
  throw new DomainError('token_not_found', words, { param: 'budgets' })
}

const whose = { tenant: 'the tenant', user: 'this user', token: 'this token' } as const

/**
 * A budget does not cover a request's hold: nothing was started. Details: currency, hold,
 * available, limitedBy, limit, resetsAt.
 */
export function budgetReached(
  { subject, currency, period: kind, hard = '0' }: Budget,
  { toMs }: Period,
  holdPico: bigint,
  leftPico: bigint,
): DomainError {
  const hold = formatAmount(holdPico)
  const available = formatAmount(leftPico)
  const resetsAt = toTimestamp(toMs)
  return new DomainError(
    'budget_reached',
    `the budget per ${kind} of ${whose[subject.kind]} is ${hard} ${currency}: ${available} ${currency} of it is left, ` +
      `the request needs a hold of ${hold} ${currency}; the next ${kind} begins at ${resetsAt}`,
    { currency, hold, available, limitedBy: `${subject.kind}_${kind}`, limit: hard, resetsAt },
  )
}
