import { Map as ManyEntries } from 'immutable'
import { DomainError } from '../../kernel/errors.ts'
import { formatAmount, isBookable, parseAmount, type Currency } from '../../kernel/money.ts'
import { canonicalAmount } from './amount.ts'
import type { AccountEvent, AccountEventData } from './events.ts'
import { type CreditKind, type Person, postingMembers } from './postings.ts'

/**
 * Credit and its limit. Each request has an id, and may have an `Idempotency-Key`: the account
 * remembers both, so that a retry moves no money, however late it comes.
 */

/**
 * The credit of an account. Entries that grow with each posting are in maps that share their parts
 * with the earlier state: a copy for each event would take too long for long accounts.
 */
export interface CreditState {
  /** Grants and adjustments by id, so that a repeated one is recognised. */
  readonly postings: ManyEntries<string, string>
  /** Settings of a credit limit by id, so that a repeated one is recognised. */
  readonly limitIds: ManyEntries<string, string>
  /** Requests by the hash of their `Idempotency-Key`. */
  readonly keys: ManyEntries<string, string>
  readonly limits: ReadonlyMap<Currency, string>
  /** Sums of grants and adjustments, in pico. */
  readonly postedPico: ReadonlyMap<Currency, bigint>
}

export const noCredit: CreditState = {
  postings: ManyEntries(),
  limitIds: ManyEntries(),
  keys: ManyEntries(),
  limits: new Map(),
  postedPico: new Map(),
}

/** Credit that is given. `at` is RFC 3339, the amount a decimal string of at most 12 decimals. */
export interface GrantCredit {
  readonly kind: 'grant'
  readonly tenantId: string
  readonly grantId: string
  readonly currency: Currency
  readonly amount: string
  readonly reason: string
  /** Undefined: paid. */
  readonly credit?: CreditKind | undefined
  /** The invoice or payment outside that it stands for. */
  readonly reference?: string | undefined
  readonly by?: Person | undefined
  /** Whether the posting waits for a second user, whatever its amount. */
  readonly proposesOnly?: boolean | undefined
  /** Hex SHA-256 of the `Idempotency-Key` it was sent under; undefined: none. */
  readonly keyHash?: string | undefined
  readonly at: string
}

/**
 * A new credit limit: how far below zero a balance may go from now on. `limit` is a decimal string
 * of at most 12 decimals.
 */
export interface SetCreditLimit {
  readonly kind: 'set-limit'
  readonly tenantId: string
  readonly limitId: string
  readonly currency: Currency
  readonly limit: string
  readonly reason?: string | undefined
  readonly by?: Person | undefined
  readonly keyHash?: string | undefined
  readonly at: string
}

/** @throws DomainError `amount_invalid`, `posting_id_taken`, `idempotency_key_reused` */
export function grant(command: GrantCredit, state: CreditState): readonly AccountEvent[] {
  const { tenantId, grantId, currency, reason, reference, by, keyHash, at } = command
  const amount = canonicalAmount(command.amount)
  if (parseAmount(amount) <= 0n)
    throw new DomainError(
      'amount_invalid',
      'a grant must be positive: use an adjustment to take credit back',
      {
        amount,
      },
    )
  // Credit that was paid for is said by saying nothing, as before there were kinds.
  const credit = command.credit === 'paid' ? undefined : command.credit
  const terms = { grantId, currency, amount, reason, ...postingMembers({ credit, reference }) }
  if (isKeyRepeated(state, keyHash, grantFingerprint(terms))) return []
  if (isRepeated(state, grantId, grantPrint(terms))) return []
  checkPosted(state, currency, amount)
  const data = { tenantId, ...terms, ...postingMembers({ keyHash, by }), grantedAt: at }
  return [{ type: 'CreditGranted', data }]
}

/** @throws DomainError `amount_invalid`, `limit_id_taken`, `idempotency_key_reused` */
export function setLimit(command: SetCreditLimit, state: CreditState): readonly AccountEvent[] {
  const { tenantId, limitId, currency, reason, keyHash, by, at } = command
  const limit = canonicalAmount(command.limit)
  if (parseAmount(limit) < 0n)
    throw new DomainError('amount_invalid', 'a credit limit must not be negative', { limit })
  const terms = { limitId, currency, limit, ...postingMembers({ reason }) }
  if (isKeyRepeated(state, keyHash, limitFingerprint(terms))) return []
  const earlier = state.limitIds.get(limitId)
  if (earlier === fingerprint('limit', currency, limit)) return []
  if (earlier !== undefined)
    throw new DomainError('limit_id_taken', 'this id is already used by another credit limit', {
      id: limitId,
    })
  // Recorded even if the limit is already set: a retry after the next change must find the id.
  const before = limitIn(state, currency)
  const data = { tenantId, ...terms, before, ...postingMembers({ keyHash, by }), setAt: at }
  return [{ type: 'CreditLimitSet', data }]
}

/** The state after a grant. */
export function granted(state: CreditState, event: AccountEventData<'CreditGranted'>) {
  const { currency, amount } = event
  return { ...grantNamed(state, event), postedPico: withPosted(state, currency, amount) }
}

/** The state in which the id and the key of a grant are taken. */
export function grantNamed(
  state: CreditState,
  terms: RequestFields<'CreditGranted'> & { readonly keyHash?: string | undefined },
): Pick<CreditState, 'postings' | 'keys'> {
  return {
    ...withPosting(state, terms.grantId, grantPrint(terms)),
    keys: withKey(state.keys, terms.keyHash, grantFingerprint(terms)),
  }
}

/** The credit limit of a currency; of one without, zero. */
export function limitIn({ limits }: Pick<CreditState, 'limits'>, currency: Currency): string {
  return limits.get(currency) ?? '0'
}

/** The state after a credit limit was set. */
export function limitSet(state: CreditState, event: AccountEventData<'CreditLimitSet'>) {
  const { currency, limit } = event
  return { ...limitNamed(state, event), limits: new Map(state.limits).set(currency, limit) }
}

/** The state in which the id and the key of a credit limit are taken. */
export function limitNamed(
  state: CreditState,
  terms: RequestFields<'CreditLimitSet'> & { readonly keyHash?: string | undefined },
): Pick<CreditState, 'limitIds' | 'keys'> {
  const { limitId, currency, limit, keyHash } = terms
  const print = fingerprint('limit', currency, limit)
  return {
    limitIds: limitId === undefined ? state.limitIds : state.limitIds.set(limitId, print),
    keys: withKey(state.keys, keyHash, limitFingerprint(terms)),
  }
}

type RequestFields<T extends 'CreditGranted' | 'CreditLimitSet'> = Omit<
  AccountEventData<T>,
  'tenantId' | 'keyHash' | 'by' | 'before' | 'grantedAt' | 'setAt'
>

/** All members of a request for a grant, as one text. */
function grantFingerprint({
  grantId,
  currency,
  amount,
  reason,
  credit,
  reference,
}: RequestFields<'CreditGranted'>): string {
  const members = ['grant', grantId, currency, amount, reason]
  // Only where they are there: keys of earlier requests stay valid.
  return JSON.stringify([...members, ...furtherTerms({ credit, reference })])
}

/** These members must be equal where an id is repeated; the reason may differ. */
function grantPrint(
  terms: Pick<AccountEventData<'CreditGranted'>, 'currency' | 'amount' | 'credit' | 'reference'>,
): string {
  const print = fingerprint('grant', terms.currency, terms.amount)
  const further = furtherTerms(terms)
  return further.length === 0 ? print : `${print} ${JSON.stringify(further)}`
}

const furtherTerms = ({
  credit,
  reference,
}: Pick<GrantCredit, 'credit' | 'reference'>): readonly string[] =>
  credit === undefined && reference === undefined ? [] : [credit ?? 'paid', reference ?? '']

/** All members of a request for a credit limit, as one text. */
function limitFingerprint({
  limitId = '',
  currency,
  limit,
  reason,
}: RequestFields<'CreditLimitSet'>): string {
  const members = ['limit', limitId, currency, limit]
  // Only where it is there: keys of earlier requests stay valid.
  return JSON.stringify(reason === undefined ? members : [...members, reason])
}

/** One request per key: the same request again is a repetition, any other is refused. */
export function isKeyRepeated(
  state: Pick<CreditState, 'keys'>,
  keyHash: string | undefined,
  fingerprint: string,
): boolean {
  const earlier = keyHash === undefined ? undefined : state.keys.get(keyHash)
  if (earlier === undefined) return false
  if (earlier === fingerprint) return true
  throw new DomainError(
    'idempotency_key_reused',
    'this Idempotency-Key was used with another request',
    { param: 'Idempotency-Key' },
  )
}

export function withKey(
  keys: CreditState['keys'],
  keyHash: string | undefined,
  fingerprint: string,
): CreditState['keys'] {
  return keyHash === undefined ? keys : keys.set(keyHash, fingerprint)
}

/** One posting per id: the same posting again is a repetition, any other is refused. */
export function isRepeated(
  state: Pick<CreditState, 'postings'>,
  id: string,
  print: string,
): boolean {
  const earlier = state.postings.get(id)
  if (earlier === undefined) return false
  if (earlier === print) return true
  throw new DomainError('posting_id_taken', 'this id is already used by another posting', { id })
}

export function withPosting(
  { postings }: Pick<CreditState, 'postings'>,
  id: string,
  print: string,
): Pick<CreditState, 'postings'> {
  return { postings: postings.set(id, print) }
}

const postedWith = (
  { postedPico }: Pick<CreditState, 'postedPico'>,
  currency: Currency,
  amount: string,
): bigint => (postedPico.get(currency) ?? 0n) + parseAmount(amount)

/**
 * Checks that the sum of all postings of a currency can still be booked.
 *
 * @throws DomainError `amount_invalid`
 */
export function checkPosted(state: CreditState, currency: Currency, amount: string): void {
  const sumPico = postedWith(state, currency, amount)
  if (isBookable(sumPico)) return
  const sum = formatAmount(sumPico)
  throw new DomainError(
    'amount_invalid',
    `all grants and adjustments in ${currency} together would be ${sum}, more than an amount may be`,
    { amount },
  )
}

/** The sums after one more posting. */
export function withPosted(
  state: Pick<CreditState, 'postedPico'>,
  currency: Currency,
  amount: string,
): CreditState['postedPico'] {
  return new Map(state.postedPico).set(currency, postedWith(state, currency, amount))
}

/** `what` is `grant`, `limit`, or the name of the adjusted line or grant. */
export function fingerprint(what: string, currency: Currency, amount: string): string {
  return `${what} ${currency} ${amount}`
}
