import { type Static, Type } from '@sinclair/typebox'
import type { List } from 'immutable'
import { type Currency, parseAmount } from '../../kernel/money.ts'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'
import { canonicalAmount } from './amount.ts'
import type { CountedAmount, Person } from './postings.ts'
import {
  accountSetting,
  invalidSetting,
  repeated,
  type SettingValue,
  unordered,
} from './setting.ts'

/** How much one person may grant, adjust and raise credit limits by alone within 24 hours. */
const ApprovalLimitSchema = Type.Object({ currency: CurrencySchema, above: DecimalSchema })

export type ApprovalLimit = Static<typeof ApprovalLimitSchema>

/** When a second user must approve what gives a tenant something; see `proposals.ts`. */
export type Approvals = SettingValue<typeof approvals>

/** The approval settings a tenant shall have: all of them. */
export interface WantedApprovals {
  readonly limits: readonly ApprovalLimit[]
  readonly lapseHours: number
}

/** A proposal can wait for 30 days. */
export const MAX_LAPSE_HOURS = 720
const DEFAULT_LAPSE_HOURS = 72

const refuse: (param: string, message: string) => never = invalidSetting('approvals')

/** The terms of the setting, as its event and a proposal of it have them. */
export const approvalTerms = {
  /** At most one per currency; a currency without one needs no approval. */
  limits: Type.Array(ApprovalLimitSchema),
  /** A proposal can be approved for so long. */
  lapseHours: Type.Integer({ minimum: 1, maximum: MAX_LAPSE_HOURS }),
} as const

export const approvals = accountSetting({
  code: 'approvals',
  title: 'approval settings',
  type: 'ApprovalsSet',
  takesReason: true,
  terms: approvalTerms,
  namesPerson: true,
  none: { limits: [], lapseHours: DEFAULT_LAPSE_HOURS },
  canonical: ({ limits, lapseHours }: WantedApprovals) => {
    const next = limits.map(({ currency, above }, index) => {
      const amount = canonicalAmount(above)
      if (parseAmount(amount) < 0n) refuse(`limits[${index}].above`, 'must not be negative')
      return { currency, above: amount }
    })
    const twice = repeated(next.map(({ currency }) => currency))
    if (twice !== undefined) refuse('limits', `two of ${twice}`)
    if (!Number.isInteger(lapseHours) || lapseHours < 1 || lapseHours > MAX_LAPSE_HOURS)
      refuse('lapse_hours', `must be a whole number from 1 to ${MAX_LAPSE_HOURS}`)
    return { limits: next, lapseHours }
  },
  fingerprint: ({ limits, lapseHours }) =>
    unordered([
      ...limits.map(({ currency, above }) => `${currency} ${above}`),
      `hours ${lapseHours}`,
    ]),
  operatorsOnly: 'all',
  words: ({ revision, limits, lapseHours }) =>
    limits.length === 0
      ? `none (${revision})`
      : `above ${limits.map(({ currency, above }) => `${above} ${currency}`).join(', ')}, for ${lapseHours} h (${revision})`,
})

/** Postings and proposals of a person are added up over this time. */
const WINDOW_MS = 24 * 60 * 60 * 1_000

/** An amount that counts towards the sum of a person. */
export interface RecentAmount {
  /** Everyone who could have used the token. */
  readonly persons: readonly string[]
  readonly currency: Currency
  /** Never negative: an adjustment counts by its size. */
  readonly sizePico: bigint
  readonly atMs: number
  /** Set where it is proposed only: it counts while the proposal is open. */
  readonly proposalId?: string | undefined
}

/** Two tokens of one user are one person; all shells together are one more. */
export function personKey(by: Pick<Person, 'tenantId' | 'userId'> | undefined): string {
  return by === undefined ? 'shell' : JSON.stringify([by.tenantId, by.userId])
}

/** Everyone who could have used the token of a person: its user and those who issued it. */
export function personKeys(by: Person | undefined): readonly string[] {
  return [personKey(by), ...(by?.issuers ?? []).map(personKey)]
}

/** Adds an amount, and removes those that are a day old by then. */
export function withRecent(
  recent: List<RecentAmount>,
  { proposalId, ...one }: CountedAmount & { readonly proposalId?: string },
): List<RecentAmount> {
  let tooOld = 0
  while ((recent.get(tooOld)?.atMs ?? Infinity) <= one.atMs - WINDOW_MS) tooOld += 1
  const { currency, atMs } = one
  const amount = { persons: personKeys(one.by), currency, sizePico: sizePico(one.amount), atMs }
  return recent.slice(tooOld).push({ ...amount, proposalId })
}

/**
 * Whether an amount is more than its person may post alone, with what was posted before by any token
 * that the same person could have used. `earlier` is called only where there is a limit.
 */
export function isAboveLimit(
  { limits }: Pick<Approvals, 'limits'>,
  { by, currency, amount, atMs }: CountedAmount,
  earlier: () => readonly RecentAmount[],
): boolean {
  const limit = limits.find((one) => one.currency === currency)
  if (limit === undefined) return false
  const persons = new Set(personKeys(by))
  const counted = earlier().filter(
    (one) =>
      one.currency === currency &&
      one.atMs > atMs - WINDOW_MS &&
      one.persons.some((person) => persons.has(person)),
  )
  const sumPico = counted.reduce((sum, one) => sum + one.sizePico, sizePico(amount))
  return sumPico > parseAmount(limit.above)
}

function sizePico(amount: string): bigint {
  const amountPico = parseAmount(amount)
  return amountPico < 0n ? -amountPico : amountPico
}
