import type { Queryable } from '../../../projections/engine/queryable.ts'
import { standingSql } from '../../../projections/ledger/query.ts'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { requireCaughtUp } from '../read-models/catch-up.ts'
import type { ReadModels } from '../read-models/read-models.ts'
import { SILENT_REPLICA_MS } from '../spending/replica-reports.ts'
import type { Funds } from '../spending/funds.ts'
import { spokenForSql } from '../spending/spendable.ts'

/** A tenant's balance in one currency, in pico. */
export interface CurrencyBalance {
  readonly currency: Currency
  readonly grantedPico: bigint
  /** Signed sum of corrections. */
  readonly adjustedPico: bigint
  readonly settledPico: bigint
  /** Holds of tasks and calls, and settlements not yet in the ledger. */
  readonly heldPico: bigint
  /** How far below zero it may go. */
  readonly creditLimitPico: bigint
  /** `granted + adjusted + credit limit − settled − held`: how much a new request may hold. */
  readonly availablePico: bigint
}

interface Balances {
  /** By tenant; a tenant without any money movement is absent. */
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
    // This process reports its holds only periodically; this read needs them at once.
    await funds.report(tenantIds)
    return read(db, tenantIds, currency)
  }
}

/** One statement, so that the ledger and the amounts beyond it are of one moment. */
async function read(
  db: Queryable,
  tenantIds: readonly string[],
  currency: Currency | undefined,
): Promise<Balances> {
  const { rows } = await db.query<Readonly<Record<string, string>> & { currency: Currency }>({
    name: 'standing-balances',
    text: `with ledger as (${standingSql}),
           ${spokenForSql({ exceptReplica: `''`, silentMs: '$2' })}
           select tenant_id, currency, l.position, granted, adjusted, settled, credit_limit,
                  l.held + coalesce(r.amount, 0) + coalesce(t.amount, 0) as held
           from ledger l
           left join reserved r using (tenant_id, currency)
           left join reported t using (tenant_id, currency)
           where $3::text is null or currency = $3
           order by tenant_id, currency`,
    values: [tenantIds, SILENT_REPLICA_MS, currency ?? null],
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
  const [grantedPico, adjustedPico] = [pico('granted'), pico('adjusted')]
  const [settledPico, heldPico] = [pico('settled'), pico('held')]
  const creditLimitPico = pico('credit_limit')
  return {
    currency: row.currency,
    grantedPico,
    adjustedPico,
    settledPico,
    heldPico,
    creditLimitPico,
    availablePico: grantedPico + adjustedPico + creditLimitPico - settledPico - heldPico,
  }
}
