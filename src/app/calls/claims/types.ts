import type { Principal } from '../../access/principal.ts'

/** Calls that are made once for each `Idempotency-Key`; no HTTP here. */

/** Under which key a call is asked for. */
export interface KeyedRequest {
  /** As the caller chose it. */
  readonly key: string
  /** The path of the route it came to: a key of another path is another key. */
  readonly path: string
  /** What tells its body from another one. */
  readonly bodyHash: string
  /** Told of the claim once it is taken: who answers keeps the answer under it. */
  readonly taken: (claim: CallClaim) => void
}

/** An answer as it was sent, to be sent again. */
export interface KeptAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * The right to make the one call of a key. It is leased and renewed while the call is under way, so
 * a process that dies gives it back.
 */
export interface CallClaim {
  /** Of the call that is made under it. */
  readonly callId: string
  /**
   * From now on the call may be settled, and is never made again. To be durable before a settlement
   * is written.
   * @throws DomainError `idempotency_in_progress` where another has taken the key since,
   *   `database_unavailable` where nobody can tell; nothing may be settled then
   */
  readonly settling: () => Promise<void>
  /** The settlement was certainly not written. */
  readonly unsettled: () => void
  /** The settlement is durable: what is left is to `keep` the answer. */
  readonly settled: () => void
  /** Frees the key, unless its call may have been settled. Never throws. */
  readonly release: () => Promise<void>
  /**
   * Of a call that is settled: its answer, or that there is none to repeat. Else nothing happens. Never
   * throws: a caller gets an answer that could not be kept.
   */
  readonly keep: (answer: KeptAnswer | undefined) => Promise<void>
}

export interface CallClaims {
  /**
   * Takes a key for one call, across all replicas.
   *
   * @throws RepeatedAnswer where its call was made and its answer is kept; DomainError
   *   `idempotency_key_reused`, `idempotency_in_progress`, `idempotency_answer_not_kept`,
   *   `database_unavailable`
   */
  readonly take: (
    principal: Pick<Principal, 'tenantId'>,
    request: Omit<KeyedRequest, 'taken'>,
  ) => Promise<CallClaim>
}

/** Ends a request that repeats another one: it is answered as that was. */
export class RepeatedAnswer extends Error {
  override readonly name = 'RepeatedAnswer'
  readonly answer: KeptAnswer

  constructor(answer: KeptAnswer) {
    super('the answer of an earlier request with this Idempotency-Key')
    this.answer = answer
  }
}
