import { type Static, Type } from '@sinclair/typebox'
import { partyTerms } from '../account/party.ts'
import type { FactsOf } from '../event-facts.ts'

/** Whom statements are from, and the keys that sign them: of the gateway as a whole, of no tenant. */
export const issuerEvents = {
  IssuerProfileSet: Type.Object({
    /** Counts these events from 1. */
    revision: Type.Integer({ minimum: 1 }),
    ...partyTerms,
    setAt: Type.String(),
  }),
  /** Written once per key: a key stays published after another one has replaced it. */
  StatementKeyPublished: Type.Object({
    /** The public key as verifiers of signed notes take it: name, hash and key. */
    vkey: Type.String(),
    publishedAt: Type.String(),
  }),
} as const

export const issuerFacts: FactsOf<typeof issuerEvents> = {
  IssuerProfileSet: {
    source: () => undefined,
    at: (d) => d.setAt,
    words: ({ legalName, country, revision }) => `${legalName}, ${country} (${revision})`,
  },
  StatementKeyPublished: {
    source: () => undefined,
    at: (d) => d.publishedAt,
    words: (d) => d.vkey,
  },
}

type IssuerEventType = keyof typeof issuerEvents
export type IssuerProfileSet = Static<(typeof issuerEvents)['IssuerProfileSet']>
export type IssuerEvent = {
  readonly [T in IssuerEventType]: {
    readonly type: T
    readonly data: Static<(typeof issuerEvents)[T]>
  }
}[IssuerEventType]

/** The one stream of it. */
export const issuerStream = 'issuer'
