import { formatAmount } from '../../kernel/money.ts'
import type { Expected } from './compare.ts'
import type { BalanceChange } from './expected-ledger.ts'

/** A balance in pico, and the position of the last event that changed it. */
interface ExpectedBalance {
  granted: bigint
  adjusted: bigint
  refunded: bigint
  expired: bigint
  settled: bigint
  held: bigint
  limit: bigint
  position: bigint
}

/** The key of a balance. */
export interface AuditedBalanceKey {
  readonly tenantId: string
  readonly currency: string
}

/** Balances by tenant and currency: their number depends on tenants, not on events. */
export class Balances {
  readonly #byKey = new Map<string, AuditedBalanceKey & { readonly balance: ExpectedBalance }>()

  apply(change: BalanceChange, position: bigint): void {
    const balance = this.#of(change)
    balance.granted += change.granted ?? 0n
    balance.adjusted += change.adjusted ?? 0n
    balance.refunded += change.refunded ?? 0n
    balance.settled += change.settled ?? 0n
    balance.held += change.held ?? 0n
    balance.limit = change.limit ?? balance.limit
    balance.position = position
  }

  set(key: AuditedBalanceKey, balance: ExpectedBalance): void {
    Object.assign(this.#of(key), balance)
  }

  get({ tenantId, currency }: AuditedBalanceKey): ExpectedBalance | undefined {
    return this.#byKey.get(`${currency} ${tenantId}`)?.balance
  }

  entries(): Iterable<AuditedBalanceKey & { readonly balance: ExpectedBalance }> {
    return this.#byKey.values()
  }

  #of({ tenantId, currency }: AuditedBalanceKey): ExpectedBalance {
    const key = `${currency} ${tenantId}`
    const found = this.#byKey.get(key)?.balance
    if (found) return found
    const balance = {
      granted: 0n,
      adjusted: 0n,
      refunded: 0n,
      expired: 0n,
      settled: 0n,
      held: 0n,
      limit: 0n,
      position: -1n,
    }
    this.#byKey.set(key, { tenantId, currency, balance })
    return balance
  }
}

/** The row of a balance by the log, without the events in `unapplied`, which the ledger skipped. */
export function balanceRow(
  { tenantId, currency }: AuditedBalanceKey,
  balance: ExpectedBalance | undefined,
  unapplied?: ExpectedBalance,
): Expected {
  const amount = (of: Exclude<keyof ExpectedBalance, 'limit' | 'position'>): string =>
    formatAmount((balance?.[of] ?? 0n) - (unapplied?.[of] ?? 0n))
  return {
    tenant_id: tenantId,
    currency,
    granted: amount('granted'),
    adjusted: amount('adjusted'),
    refunded: amount('refunded'),
    expired: amount('expired'),
    credit_limit: formatAmount(balance?.limit ?? 0n),
    settled: amount('settled'),
    held: amount('held'),
    // If an event is missing, the balance's last position is not known.
    ...(unapplied ? {} : { position: balance?.position ?? -1n }),
  }
}
