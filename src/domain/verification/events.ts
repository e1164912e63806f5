import { Type, type Static } from '@sinclair/typebox'
import { runForToken, keptAt } from '../asset/events.ts'
import { noDescription, type FactsOf } from '../event-facts.ts'

/**
 * The verification of a real person. Events never hold its one-time credential, only a keyed hash
 * of it.
 */
export const verificationEvents = {
  VerificationStarted: Type.Object({
    /** A keyed hash of the credential: only a holder of the credential can find it. */
    verificationId: Type.String(),
    ...runForToken,
    ...keptAt,
    /** Name of the future group of the person. */
    groupId: Type.String(),
    startedAt: Type.String(),
    /** An unconfirmed verification expires then. */
    expiresAt: Type.String(),
  }),
  /** Upstream has verified the person, and made the group. */
  VerificationConfirmed: Type.Object({
    verificationId: Type.String(),
    groupId: Type.String(),
    nativeGroupId: Type.String(),
    confirmedAt: Type.String(),
  }),
  VerificationExpired: Type.Object({
    verificationId: Type.String(),
    expiredAt: Type.String(),
  }),
} as const

const ofVerification = (data: { readonly verificationId: string }): string => data.verificationId

export const verificationFacts: FactsOf<typeof verificationEvents> = {
  VerificationStarted: {
    source: ofVerification,
    at: (d) => d.startedAt,
    begins: true,
    words: (d) => `until ${d.expiresAt}`,
  },
  VerificationConfirmed: {
    source: ofVerification,
    at: (d) => d.confirmedAt,
    words: (d) => d.groupId,
  },
  VerificationExpired: { source: ofVerification, at: (d) => d.expiredAt, words: noDescription },
}

type VerificationEventType = keyof typeof verificationEvents
export type VerificationEventData<T extends VerificationEventType> = Static<
  (typeof verificationEvents)[T]
>
export type VerificationEvent = {
  readonly [T in VerificationEventType]: {
    readonly type: T
    readonly data: VerificationEventData<T>
  }
}[VerificationEventType]

/** Prefix of the names of these streams. */
export const verificationStreams = 'verification-'

/** Name of the stream of one verification. */
export function verificationStream(verificationId: string): string {
  return `${verificationStreams}${verificationId}`
}
