import { accountStream, type AccountEventData } from '../../domain/account/events.ts'
import type { PriceEntry } from '../../domain/pricing/events.ts'
import type { AccountPrice, SettlementLine } from '../../domain/pricing/settlement.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { canonicalPrice } from '../../kernel/money.ts'
import type { Finding } from './findings.ts'
import { recomputeMultiplied } from './recompute.ts'
import { readEach, readTo } from './streams.ts'

/**
 * Time after a change in which a request may still get the earlier price: a replica is late by half
 * a minute at most, and the clocks of gateways and log may differ.
 */
export const ALLOWED_LATENESS_MS = 120_000

/** One settled line, with the known facts of its result. */
interface PricedLine {
  readonly line: SettlementLine
  readonly tenantId: string
  readonly currency: string
  /** The entry for its SKU in the price book it names. */
  readonly list: PriceEntry | undefined
  /** Time of its acceptance or start: unix milliseconds. */
  readonly acceptedAtMs: number
  /** Position of its settlement. */
  readonly position: bigint
}

/** A wrong price of a line. */
interface PriceFault {
  readonly code: Extract<
    Finding['code'],
    'price_not_in_book' | 'account_price_wrong' | 'account_price_outdated'
  >
  readonly message: string
}

interface SetPrices {
  readonly data: AccountEventData<'AccountPricesSet'>
  readonly position: bigint
  readonly recordedAtMs: number
}

/**
 * Every price a tenant ever set, to check settled prices against. Operators set them by hand:
 * memory grows with that, and with the tenants that have settlements.
 */
export class AccountPriceHistory {
  readonly #log: EventLog
  /** Tenants whose earlier prices were all read. */
  readonly #recalled = new Set<string>()
  readonly #sets = new Map<string, SetPrices[]>()
  readonly #wholeLog: boolean

  /** @param wholeLog the audit starts with the log, so there are no earlier prices to read */
  constructor(log: EventLog, wholeLog: boolean) {
    this.#log = log
    this.#wholeLog = wholeLog
  }

  /** Reads the prices that the tenants of these events had set up to an earlier position. */
  async recall(events: readonly RecordedEvent[], upTo: bigint): Promise<void> {
    if (this.#wholeLog) return
    const unknown = new Set<string>()
    for (const { type, data } of events)
      if (type === 'CallSettled' || type === 'TaskSettled' || type === 'AccountPricesSet')
        if (!this.#recalled.has(data.tenantId)) unknown.add(data.tenantId)
    await readEach(unknown, async (tenant) => {
      for await (const event of readTo(this.#log, accountStream(tenant), upTo)) this.take(event)
      this.#recalled.add(tenant)
    })
  }

  /** Takes the next event. */
  take(event: RecordedEvent): void {
    if (event.type !== 'AccountPricesSet') return
    const { data, position, recordedAt } = event
    const sets = this.#sets.get(data.tenantId) ?? []
    sets.push({ data, position, recordedAtMs: recordedAt.getTime() })
    this.#sets.set(data.tenantId, sets)
  }

  /** Describes a wrong price; undefined if the book and the tenant's prices yield it. */
  faultOf(priced: PricedLine): PriceFault | undefined {
    const { accountPrice } = priced.line
    const sets = this.#sets.get(priced.tenantId) ?? []
    return accountPrice === undefined
      ? (listFault(priced) ?? overlooked(priced, sets))
      : accountFault(priced, accountPrice, sets)
  }
}

function listFault({ line, list }: PricedLine): PriceFault | undefined {
  if (list !== undefined && list.price === line.price && list.per === line.per) return undefined
  return { code: 'price_not_in_book', message: `${priceOf(line)} is not in the price book` }
}

/** Settled at a list price although every replica already knew the tenant's own price. */
function overlooked(priced: PricedLine, sets: readonly SetPrices[]): PriceFault | undefined {
  if (sets.length === 0) return undefined
  const { sku } = priced.line
  const known = sets.findLastIndex((set) => isOld(set, priced))
  // Before a tenant's first prices, list prices applied.
  const possible = sets.slice(Math.max(0, known)).filter((set) => set.position < priced.position)
  if (known < 0 || possible.some((set) => !changes(set, priced))) return undefined
  return {
    code: 'account_price_outdated',
    message: `${sku} is at its list price, and the tenant had own prices long before`,
  }
}

function changes({ data }: SetPrices, priced: PricedLine): boolean {
  return data.multiplier !== undefined || ownOf(data, priced) !== undefined
}

function accountFault(
  priced: PricedLine,
  accountPrice: AccountPrice,
  sets: readonly SetPrices[],
): PriceFault | undefined {
  const { line, position } = priced
  const { revision } = accountPrice
  const named = sets.find((set) => set.data.revision === revision && set.position < position)
  const where = `account prices ${revision} of the tenant`
  if (named === undefined)
    return { code: 'account_price_wrong', message: `${line.sku}: there are no ${where}` }
  if (!gives(named.data, priced, accountPrice))
    return { code: 'account_price_wrong', message: `${where} do not give ${priceOf(line)}` }
  const next = sets.find((set) => set.data.revision === revision + 1)
  if (next === undefined || !isOld(next, priced)) return undefined
  return { code: 'account_price_outdated', message: `${line.sku}: others had replaced ${where}` }
}

/** Whether a tenant's prices and the list price give the price of a line. */
function gives(data: SetPrices['data'], priced: PricedLine, accountPrice: AccountPrice): boolean {
  const { line, list } = priced
  const own = ownOf(data, priced)
  if (accountPrice.kind === 'own')
    return own !== undefined && canonicalPrice(own.price) === line.price && own.per === line.per
  return (
    own === undefined &&
    data.multiplier === accountPrice.multiplier &&
    list !== undefined &&
    list.per === line.per &&
    list.price === accountPrice.list &&
    recomputeMultiplied(list.price, accountPrice.multiplier) === canonicalPrice(line.price)
  )
}

function ownOf(
  { prices }: SetPrices['data'],
  { line, currency }: PricedLine,
): PriceEntry | undefined {
  return prices.find((entry) => entry.sku === line.sku && entry.currency === currency)
}

/** Set so long before the result was accepted that every replica knew it. */
function isOld({ recordedAtMs }: SetPrices, { acceptedAtMs }: PricedLine): boolean {
  return recordedAtMs + ALLOWED_LATENESS_MS < acceptedAtMs
}

function priceOf({ sku, price, per }: SettlementLine): string {
  return `${sku} at ${price} per ${per}`
}
