import type { Queryable } from '../../../../projections/engine/queryable.ts'
import type { Budget, Budgets } from '../../../domain/account/budgets.ts'
import { parseAmount } from '../../../kernel/money.ts'
import { type Period, periodAt, spentReader } from './spent.ts'

/** A budget, and how it stands in its present period by what the ledger has: calls under way are not in it. */
export interface StandingBudget extends Budget {
  /** The present day or month. */
  readonly current: Period
  /** Settled, and held by tasks under way. */
  readonly spentPico: bigint
  /** Undefined without a hard bound; less than nothing where what was under way came to more than its holds. */
  readonly leftPico: bigint | undefined
  readonly softReached: boolean
}

export interface StandingBudgets {
  readonly tenantId: string
  readonly revision: number
  readonly timeZone: string
  readonly budgets: readonly StandingBudget[]
}

/** How budgets stand by what the ledger has. */
export async function standing(
  db: Queryable,
  tenantId: string,
  { revision, timeZone, budgets }: Budgets,
  nowMs: number,
): Promise<StandingBudgets> {
  const spentIn = spentReader(db)
  const standings = budgets.map(async (budget): Promise<StandingBudget> => {
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
  return { tenantId, revision, timeZone, budgets: await Promise.all(standings) }
}
