import type { Queryable } from '../../../projections/engine/queryable.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import type { ReadModels } from '../read-models/read-models.ts'
import type { Funds } from '../spending/funds.ts'
import { spendableSql, spendableValues } from '../spending/spendable.ts'

/** Amounts that a tenant was given and charged in one currency, in pico. */
export interface BookedBalance {
  readonly currency: Currency
  readonly grantedPico: bigint
  /** Signed sum of refunds and corrections. */
  readonly adjustedPico: bigint
  /** The part of it that is of settled lines; the rest is of grants. */
  readonly refundedPico: bigint
  readonly settledPico: bigint
}

/** A tenant's balance in one currency as it is now, in pico. */
export interface CurrencyBalance extends BookedBalance {
  /** Holds of tasks and calls, and settlements not yet in the ledger. */
  readonly heldPico: bigint
  /** Credit limit: how far below zero the balance may go. */
  readonly creditLimitPico: bigint
  /** `granted + adjusted + credit limit − settled − held`: how much a new request may hold. */
  readonly availablePico: bigint
}

interface Balances {
  /** Balances by tenant; a tenant without any money movement is absent. */
  readonly byTenant: ReadonlyMap<string, readonly CurrencyBalance[]>
  /** The ledger has the events up to here; undefined before its first. */
  readonly asOf: bigint | undefined
}

/**
 * Reads balances of these tenants with everything that the log had at the call.
 * @throws DomainError `read_model_behind`; what the log or the database throws
 */
export type ReadBalances = (
  tenantIds: readonly string[],
  currency: Currency | undefined,
) => Promise<Balances>

export function createReadBalances(deps: {
  readonly db: Queryable
  readonly logEnd: () => Promise<bigint | undefined>
  readonly readModels: Pick<ReadModels, 'requireCurrent'>
  readonly funds: Pick<Funds, 'report'>
}): ReadBalances {
  const { db, logEnd, readModels, funds } = deps
  return async (tenantIds, currency) => {
    await readModels.requireCurrent('ledger')
    await requireCaughtUp({ db, log: { endPosition: logEnd } }, 'ledger')
    // This process reports its holds only periodically; this read needs them immediately.
    await funds.report(tenantIds)
    return balancesOf(db, tenantIds, currency)
  }
}

/** Reads in one statement, so that the ledger and the amounts beyond it are of one moment. */
export async function balancesOf(
  db: Queryable,
  tenantIds: readonly string[],
  currency: Currency | undefined,
): Promise<Balances> {
  const { rows } = await db.query<Readonly<Record<string, string>> & { currency: Currency }>({
    name: 'balances',
    text: `with ${spendableSql}
           select tenant_id, currency, position, granted, adjusted, refunded, settled, credit_limit,
                  held, amount
           from spendable where $4::text is null or currency = $4 order by tenant_id, currency`,
    values: [...spendableValues(tenantIds), currency ?? null],
  })
  const byTenant = new Map<string, readonly CurrencyBalance[]>()
  for (const row of rows) {
    const tenantId = row['tenant_id'] ?? ''
    byTenant.set(tenantId, [...(byTenant.get(tenantId) ?? []), toBalance(row)])
  }
  const position = rows[0]?.['position']
  return { byTenant, asOf: position === undefined ? undefined : BigInt(position) }
}

function toBalance(
  row: Readonly<Record<string, string>> & { readonly currency: Currency },
): CurrencyBalance {
  const pico = (column: string): bigint => parseAmount(row[column] ?? '0')
  return {
    currency: row.currency,
    grantedPico: pico('granted'),
    adjustedPico: pico('adjusted'),
    refundedPico: pico('refunded'),
    settledPico: pico('settled'),
    heldPico: pico('held'),
    creditLimitPico: pico('credit_limit'),
    availablePico: pico('amount'),
  }
}
