import type { Principal } from '../../access/principal.ts'

/** The key of a call's request. */
export interface KeyedRequest {
  /** The key that the caller chose. */
  readonly key: string
  /** The path of its route: the same key on another path is another key. */
  readonly path: string
  /** Hash that distinguishes its body from another. */
  readonly bodyHash: string
  /** Called with the claim once it is taken: the surface stores the answer under it. */
  readonly taken: (claim: CallClaim) => void
}

/** An answer as it was sent, for a retry. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * The right to make the one call of a key. It is leased and renewed while the call is in flight, so
 * it becomes free when its process dies.
 */
export interface CallClaim {
  /** Id of the call made under it. */
  readonly callId: string
  /** Keyed hashes of the key and of its body, for the events of the call. */
  readonly idempotency: { readonly keyHash: string; readonly bodyHash: string }
  /**
   * Records that the call may be settled and is never made again. Must be durable before a
   * settlement is written. While that is unknown it is retried for `patienceMs`.
   * @throws DomainError `idempotency_in_progress` when another process has taken the key since,
   *   `database_unavailable` when that is unknown; nothing may be settled then
   */
  readonly settling: (patienceMs: number) => Promise<void>
  /** The settlement was certainly not written. */
  readonly unsettled: () => void
  /** The settlement is durable: only `keep` is left to call. */
  readonly settled: () => void
  /**
   * Frees the key, unless its call may have been settled. Never throws: where Postgres is away, it is
   * freed once Postgres is back.
   */
  readonly release: () => Promise<void>
  /**
   * Stores the answer of a settled call, or records that there is none to repeat. Otherwise it does
   * nothing. It never throws: the caller gets an answer even if it could not be stored. False: the
   * answer of the settled call is not kept, and a retry will not get it.
   */
  readonly keep: (answer: KeptAnswer | undefined) => Promise<boolean | undefined>
}

export interface CallClaims {
  /**
   * Takes a key for one call, over all replicas.
   *
   * @throws RepeatedAnswer when its call was made and its answer is stored; DomainError
   *   `idempotency_key_reused`, `idempotency_in_progress`, `idempotency_answer_not_kept`,
   *   `database_unavailable`
   */
  readonly take: (
    principal: Pick<Principal, 'tenantId'>,
    request: Omit<KeyedRequest, 'taken'>,
  ) => Promise<CallClaim>
}

/** Ends a retry: the surface repeats the stored answer. */
export class RepeatedAnswer extends Error {
  override readonly name = 'RepeatedAnswer'
  readonly answer: KeptAnswer

  constructor(answer: KeptAnswer) {
    super('the answer of an earlier request with this Idempotency-Key')
    this.answer = answer
  }
}
