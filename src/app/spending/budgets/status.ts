import { tokensOfTenant } from '../../../../projections/access/query.ts'
import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { Budget, Budgets } from '../../../domain/account/budgets.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { formatAmount, parseAmount } from '../../../kernel/money.ts'
import { requireUsers } from '../../accounts/users.ts'
import type { ManagedSetting } from '../../accounts/settings.ts'
import { requireCaughtUp } from '../../read-models/catch-up.ts'
import { type Period, periodAt, spentReader } from './spent.ts'
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
  { revision, timeZone, budgets }: Budgets,
  nowMs: number,
): Promise<BudgetStatuses> {
  const spentIn = spentReader(db)
  const statuses = budgets.map(async (budget): Promise<BudgetStatus> => {
    const { subject, currency, period, hard, soft } = budget
    const current = periodAt(period, timeZone, nowMs)
    const spentPico = (await spentIn(tenantId, current)).of(subject).get(currency) ?? 0n
    return {
      ...budget,
      current,
      spentPico,
      leftPico: hard === undefined ? undefined : parseAmount(hard) - spentPico,
      softReached: soft !== undefined && spentPico >= parseAmount(soft),
    }
  })
  return { tenantId, revision, timeZone, budgets: await Promise.all(statuses) }
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
  prepare: async (deps, tenantId, now, purpose) => {
    // The answer resolves tokens of budgets and shows the amounts spent.
    if (purpose === 'set') await requireCaughtUp(deps, 'access')
    else if (now.budgets.length > 0) await requireCaughtUp(deps, 'ledger')
    return (budgets) => readBudgetStatuses(deps.db, tenantId, budgets, deps.clock.nowMs())
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
