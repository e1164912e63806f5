import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { CurrencySchema, DecimalSchema } from '../pricing/settlement.ts'
import type { EventFacts, FactsOf } from '../event-facts.ts'
import {
  adjustmentTerms,
  grantTerms,
  KeyHashSchema,
  PersonSchema,
  postingIdOf,
  PostingSchema,
} from './postings.ts'
import { changeInWords, isSettingChange, SettingChangeSchema } from './setting-changes.ts'
import { allSettings, type SettingEvent } from './settings.ts'

type SchemaOf<Data> = TSchema & { readonly static: Data }

/** Each event has all of its setting from now on. */
const settingEvents = Object.fromEntries(
  allSettings.map(([, { type, schema }]) => [type, schema]),
) as { readonly [Event in SettingEvent as Event['type']]: SchemaOf<Event['data']> }

/** The types of events that set a setting. */
export const settingTypes = Object.keys(settingEvents) as readonly SettingEvent['type'][]

export const accountEvents = {
  TenantOpened: Type.Object({
    tenantId: Type.String(),
    name: Type.String(),
    openedAt: Type.String(),
  }),
  UserAdded: Type.Object({
    tenantId: Type.String(),
    userId: Type.String(),
    name: Type.String(),
    addedAt: Type.String(),
  }),
  UserRenamed: Type.Object({
    tenantId: Type.String(),
    userId: Type.String(),
    name: Type.String(),
    renamedAt: Type.String(),
  }),
  CreditGranted: Type.Object({
    tenantId: Type.String(),
    ...grantTerms,
    keyHash: Type.Optional(KeyHashSchema),
    by: Type.Optional(PersonSchema),
    grantedAt: Type.String(),
  }),
  /** How far below zero the balance may go; absent means prepaid (zero). */
  CreditLimitSet: Type.Object({
    tenantId: Type.String(),
    currency: CurrencySchema,
    limit: DecimalSchema,
    /** Names this setting, so that a retry of it is recognised; absent in older events. */
    limitId: Type.Optional(Type.String()),
    /** The limit that it replaces; absent in older events. */
    before: Type.Optional(DecimalSchema),
    reason: Type.Optional(Type.String()),
    keyHash: Type.Optional(KeyHashSchema),
    by: Type.Optional(PersonSchema),
    setAt: Type.String(),
  }),
  AdjustmentPosted: Type.Object({
    tenantId: Type.String(),
    ...adjustmentTerms,
    keyHash: Type.Optional(KeyHashSchema),
    by: Type.Optional(PersonSchema),
    postedAt: Type.String(),
  }),
  /**
   * A posting or a change of a setting that one person may not make alone. It takes effect when a
   * second user approves it.
   */
  PostingProposed: Type.Object({
    tenantId: Type.String(),
    proposalId: Type.String(),
    posting: Type.Union([PostingSchema, SettingChangeSchema]),
    by: Type.Optional(PersonSchema),
    keyHash: Type.Optional(KeyHashSchema),
    proposedAt: Type.String(),
    /** No approval is possible from this time on; the lapse itself is no event. */
    expiresAt: Type.String(),
  }),
  /** Always in one append with the event of the posting or the setting that it approves. */
  PostingApproved: Type.Object({
    tenantId: Type.String(),
    proposalId: Type.String(),
    by: PersonSchema,
    approvedAt: Type.String(),
  }),
  PostingRejected: Type.Object({
    tenantId: Type.String(),
    proposalId: Type.String(),
    by: Type.Optional(PersonSchema),
    reason: Type.String(),
    rejectedAt: Type.String(),
  }),
  ...settingEvents,
} as const

const ofAccount = (): undefined => undefined

// These events move no money: a quote made before new prices stays valid.
const settingFacts = Object.fromEntries(
  allSettings.map(([, { type, words }]): [string, EventFacts<never>] => [
    type,
    { source: ofAccount, at: ({ setAt }: SettingEvent['data']) => setAt, words },
  ]),
) as FactsOf<typeof settingEvents>

export const accountFacts: FactsOf<typeof accountEvents> = {
  TenantOpened: { source: ofAccount, at: (d) => d.openedAt, words: (d) => d.name },
  UserAdded: { source: ofAccount, at: (d) => d.addedAt, words: (d) => `${d.userId} ${d.name}` },
  UserRenamed: { source: ofAccount, at: (d) => d.renamedAt, words: (d) => `${d.userId} ${d.name}` },
  CreditGranted: {
    source: ofAccount,
    at: (d) => d.grantedAt,
    moves: (d) => {
      const { grantId: sourceId, tenantId, currency, amount, reason, grantedAt } = d
      const { credit = 'paid', reference } = d
      const terms = { currency, amount, credit, reference }
      return [{ kind: 'granted', sourceId, tenantId, ...terms, reason, grantedAt }]
    },
    words: (d) => `${d.grantId}: ${d.reason}`,
  },
  CreditLimitSet: {
    source: ofAccount,
    at: (d) => d.setAt,
    moves: ({ tenantId, currency, limit }) => [{ kind: 'limit_set', tenantId, currency, limit }],
    words: ({ reason = '' }) => reason,
  },
  AdjustmentPosted: {
    source: ofAccount,
    at: (d) => d.postedAt,
    moves: (d) => {
      const { adjustmentId: sourceId, tenantId, currency, amount, corrects, code, reason } = d
      const { postedAt } = d
      const terms = { currency, amount, corrects, code }
      return [{ kind: 'adjusted', sourceId, tenantId, ...terms, reason, postedAt }]
    },
    words: ({ corrects, reason }) =>
      `${corrects.kind === 'line' ? corrects.lineId : corrects.grantId}: ${reason}`,
  },
  PostingProposed: {
    source: ofAccount,
    at: (d) => d.proposedAt,
    words: ({ proposalId, posting }) => {
      if (isSettingChange(posting)) return `${proposalId}: ${changeInWords(posting)}`
      const { kind, currency } = posting
      const named = `${proposalId}: ${kind} ${postingIdOf(posting)}`
      return kind === 'limit'
        ? `${named} of ${posting.limit} ${currency} instead of ${posting.before}: ${posting.reason ?? 'no reason given'}`
        : `${named} of ${posting.amount} ${currency}: ${posting.reason}`
    },
  },
  PostingApproved: { source: ofAccount, at: (d) => d.approvedAt, words: (d) => d.proposalId },
  PostingRejected: {
    source: ofAccount,
    at: (d) => d.rejectedAt,
    words: (d) => `${d.proposalId}: ${d.reason}`,
  },
  ...settingFacts,
}

type AccountEventType = keyof typeof accountEvents
export type AccountEventData<T extends AccountEventType> = Static<(typeof accountEvents)[T]>
export type AccountEvent = {
  readonly [T in AccountEventType]: { readonly type: T; readonly data: AccountEventData<T> }
}[AccountEventType]
/** Prefix of the names of these streams. */
export const accountStreams = 'account-'

/** Name of the stream of one tenant's account. */
export function accountStream(tenantId: string): string {
  return `${accountStreams}${tenantId}`
}
