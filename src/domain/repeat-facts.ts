import { Type } from '@sinclair/typebox'

/**
 * Facts by which support recognises a request that was sent again. They hold no content of the
 * request (P7), and are absent in events of earlier releases.
 */
export const repeatFactMembers = {
  /**
   * Keyed hash of the body, its length and its tenant: two requests of one tenant with one
   * fingerprint had the same body.
   */
  bodyFingerprint: Type.Optional(Type.String()),
  /** Number of the retry, as the caller's library counts; absent for a first request. */
  retry: Type.Optional(Type.Integer({ minimum: 1 })),
} as const

/** The facts about one request; a member is absent where nothing is known. */
export interface RepeatFacts {
  readonly bodyFingerprint?: string
  readonly retry?: number
}

export const idempotencyMember = {
  /** Keyed hashes of an `Idempotency-Key` and of the body it came with. */
  idempotency: Type.Optional(Type.Object({ keyHash: Type.String(), bodyHash: Type.String() })),
} as const

export const attemptsMember = {
  /** Number of requests that were made upstream, one after the other; absent for one. */
  attempts: Type.Optional(Type.Integer({ minimum: 2 })),
} as const

/** The number of attempts as an event has it. */
export function attemptsIn(attempts: number | undefined): { readonly attempts?: number } {
  return attempts !== undefined && attempts > 1 ? { attempts } : {}
}
