import { type Static, Type } from '@sinclair/typebox'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { bookForAccount } from '../pricing/account-prices.ts'
import type { PriceEntry } from '../pricing/events.ts'
import { priceBookDifference } from '../pricing/price-book-difference.ts'
import { emptyPriceBook, type PriceBook, type SoldPrice } from '../pricing/price-book.ts'
import { type ApprovalLimit, approvals, approvalTerms } from './approvals.ts'
import { accountPrices, priceTerms } from './prices.ts'
import type { Person } from './postings.ts'
import { valueWithoutReason } from './setting.ts'
import { type AccountSettings, settingIn, type SettingName } from './settings.ts'

/**
 * Changes of settings that may give a tenant something, as a credit does: of its prices, and of the
 * approvals themselves. One person does not make such a change alone where approvals are set.
 */

/** A change with both of its sides; `basis` is the revision of the setting that it replaces. */
const changeOf = <
  Kind extends 'prices' | 'approvals',
  Terms extends typeof priceTerms | typeof approvalTerms,
>(
  kind: Kind,
  terms: Terms,
) =>
  Type.Object({
    kind: Type.Literal(kind),
    basis: Type.Integer({ minimum: 0 }),
    before: Type.Object(terms),
    after: Type.Object(terms),
    /** Why; absent: not said. */
    reason: Type.Optional(Type.String()),
  })

const PriceChangeSchema = changeOf('prices', priceTerms)
const ApprovalChangeSchema = changeOf('approvals', approvalTerms)
export const SettingChangeSchema = Type.Union([PriceChangeSchema, ApprovalChangeSchema])

export type PriceChange = Static<typeof PriceChangeSchema>
export type ApprovalChange = Static<typeof ApprovalChangeSchema>
export type SettingChange = PriceChange | ApprovalChange

/** An event of a setting that may give a tenant something. */
export type ChangeEvent =
  | ReturnType<typeof accountPrices.event>
  | ReturnType<typeof approvals.event>

/** Whether a change of the setting may need a second person. */
export function mayGive(name: SettingName): name is SettingChange['kind'] {
  return name === 'prices' || name === 'approvals'
}

/** Whether the event sets a setting that may give a tenant something. */
export function isChangeEvent(event: { readonly type: string }): event is ChangeEvent {
  return event.type === accountPrices.type || event.type === approvals.type
}

/** Whether a proposal is one of a setting, not of a posting. */
export function isSettingChange<Proposed extends { readonly kind: string }>(
  proposed: Proposed,
): proposed is Extract<Proposed, { readonly kind: SettingChange['kind'] }> {
  return proposed.kind === 'prices' || proposed.kind === 'approvals'
}

/** What an event changes in the settings before it. */
export function changeBy(event: ChangeEvent, settings: AccountSettings): SettingChange {
  const { reason } = event.data
  const why = reason === undefined ? {} : { reason }
  if (event.type === accountPrices.type) {
    const { revision: basis, ...before } = settingIn(settings, 'prices')
    const { revision: _revision, ...after } = valueWithoutReason(event)
    return { kind: 'prices', basis, before, after, ...why }
  }
  const { revision: basis, ...before } = settingIn(settings, 'approvals')
  const { revision: _revision, ...after } = valueWithoutReason(event)
  return { kind: 'approvals', basis, before, after, ...why }
}

/** Whether two changes lead from the same revision to the same setting. */
export function isSameChange(one: SettingChange, other: SettingChange): boolean {
  return one.basis === other.basis && printOf(one) === printOf(other)
}

function printOf(change: SettingChange): string {
  const print =
    change.kind === 'prices'
      ? accountPrices.fingerprint(change.after)
      : approvals.fingerprint(change.after)
  return `${change.kind} ${print}`
}

/**
 * Whether a change gives the tenant more than it has, in a currency with a limit: a lower price, or
 * a higher limit of the approvals. Prices are compared by each of the books; without one, any new
 * price of a SKU gives something.
 */
export function givesMore(
  change: SettingChange,
  limits: readonly ApprovalLimit[],
  books: readonly PriceBook[],
): boolean {
  if (change.kind === 'approvals') {
    const after = new Map(change.after.limits.map(({ currency, above }) => [currency, above]))
    return limits.some(({ currency, above }) => {
      const now = after.get(currency)
      return now === undefined || parseAmount(now) > parseAmount(above)
    })
  }
  if (limits.length === 0) return false
  const { before, after } = change
  if (parseAmount(after.multiplier ?? '1') < parseAmount(before.multiplier ?? '1')) return true
  const limited = new Set<Currency>(limits.map(({ currency }) => currency))
  const own = [...before.prices, ...after.prices].filter(({ currency }) => limited.has(currency))
  const lists = books.length === 0 ? [emptyPriceBook] : books
  return lists.some((list) => {
    const [paid, pays] = [before, after].map((prices) =>
      bookForAccount(list, { ...prices, revision: 0 }),
    )
    return own.some(({ sku, currency }) =>
      isCheaper(pays?.lookup(sku, currency), paid?.lookup(sku, currency)),
    )
  })
}

/** A price in another unit cannot be compared, and a SKU without a price could not be bought. */
function isCheaper(after: SoldPrice | undefined, before: SoldPrice | undefined): boolean {
  if (after === undefined) return false
  if (before === undefined || before.unit !== after.unit) return true
  return (
    parseAmount(after.price) * BigInt(before.per) < parseAmount(before.price) * BigInt(after.per)
  )
}

/** Own prices that are set, changed or removed: a side without one pays by the list. */
export function ownPriceChanges({ before: { prices }, after }: PriceChange): readonly {
  readonly sku: string
  readonly currency: Currency
  readonly before: PriceEntry | undefined
  readonly after: PriceEntry | undefined
}[] {
  const { added, removed, changed } = priceBookDifference(prices, after.prices)
  const named = ({ sku, currency }: PriceEntry) => ({ sku, currency })
  return [
    ...changed.map(({ before, after: now }) => ({ ...named(now), before, after: now })),
    ...added.map((now) => ({ ...named(now), before: undefined, after: now })),
    ...removed.map((before) => ({ ...named(before), before, after: undefined })),
  ]
}

/** The limits of each currency that has one on either side. */
export function limitChanges({ before, after }: ApprovalChange): readonly {
  readonly currency: Currency
  readonly before: string | undefined
  readonly after: string | undefined
}[] {
  const [was, is] = [before, after].map(
    ({ limits }) => new Map(limits.map(({ currency, above }) => [currency, above])),
  )
  const currencies = new Set<Currency>([...(was?.keys() ?? []), ...(is?.keys() ?? [])])
  return [...currencies].map((currency) => ({
    currency,
    before: was?.get(currency),
    after: is?.get(currency),
  }))
}

/** A change in one line for people. */
export function changeInWords(change: SettingChange): string {
  const { basis } = change
  const [now, next] =
    change.kind === 'prices'
      ? [
          accountPrices.words({ ...change.before, revision: basis }),
          accountPrices.words({ ...change.after, revision: basis + 1 }),
        ]
      : [
          approvals.words({ ...change.before, revision: basis }),
          approvals.words({ ...change.after, revision: basis + 1 }),
        ]
  return `${next} instead of ${now}`
}

/** The event of a proposed change, made at a time: it names the person who proposed it. */
export function changedBy(
  change: SettingChange,
  { tenantId, by }: { readonly tenantId: string; readonly by?: Person | undefined },
  at: string,
): ChangeEvent {
  const why = change.reason === undefined ? {} : { reason: change.reason }
  const facts = { tenantId, revision: change.basis + 1, by: by ?? null, ...why, setAt: at }
  return change.kind === 'prices'
    ? accountPrices.event({ ...change.after, ...facts })
    : approvals.event({ ...change.after, ...facts })
}
