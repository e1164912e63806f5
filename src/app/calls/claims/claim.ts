import type { Pool } from 'pg'
import { DomainError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import type { CrashPoint } from '../../crash-points.ts'
import type { Renewal } from './renewal.ts'
import { MAX_KEPT_ANSWER_BYTES, sealAnswer } from './sealed-answer.ts'
import { type ClaimName, endClaim, markSettling, removeClaim } from './statements.ts'
import type { CallClaim, KeptAnswer } from './types.ts'

export interface ClaimDeps {
  readonly pool: Pool
  /** Every replica has the same. */
  readonly secret: string
  readonly logger: Log
  readonly crashPoint: CrashPoint
}

/** Nobody can tell what became of a key. */
export function keyUntold(cause: unknown): DomainError {
  const message = 'the Idempotency-Key cannot be checked at the moment'
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new DomainError('database_unavailable', message, { reason })
}

/**
 * A claim that was taken.
 *
 * What is safe once its holder died is decided by what stands in the claim itself, written before
 * the settlement is: `may_be_settled`. Where it is not set, nothing was settled and nothing can be any
 * more, for whoever is only slow finds its claim taken: the call may be made anew. Where it is set, it
 * never is: that the log has no settlement proves nothing, since the dead process may have left one in
 * its spool, to be brought to the log by its next start.
 */
export function heldClaim(deps: ClaimDeps, renewal: Renewal, name: ClaimName): CallClaim {
  const { pool, secret, logger, crashPoint } = deps
  const { callId } = name
  let phase: 'open' | 'settling' | 'settled' | 'over' = 'open'
  const quietly = async (work: Promise<void>, failed: string): Promise<void> => {
    await work.catch((error: unknown) => logger.warn({ err: error, callId }, failed))
  }
  const end = async (answer: KeptAnswer | undefined): Promise<void> => {
    const isKept = answer !== undefined && answer.body.length <= MAX_KEPT_ANSWER_BYTES
    const sealed = isKept ? await sealAnswer(secret, callId, answer) : undefined
    await endClaim(pool, name, sealed)
  }
  renewal.hold(name)
  return {
    callId,
    settling: async () => {
      const isOurs = await markSettling(pool, name).catch((error: unknown) => {
        throw keyUntold(error)
      })
      if (!isOurs)
        throw new DomainError(
          'idempotency_in_progress',
          'another request has taken this Idempotency-Key; this one took too long and was not charged',
          {},
        )
      phase = 'settling'
    },
    unsettled: () => {
      phase = 'open'
    },
    settled: () => {
      phase = 'settled'
      renewal.drop(name)
    },
    release: async () => {
      renewal.drop(name)
      if (phase !== 'open') return
      phase = 'over'
      await quietly(removeClaim(pool, name), 'an idempotency key stays taken until its lease ends')
    },
    keep: async (answer) => {
      if (phase !== 'settled') return
      phase = 'over'
      crashPoint('claim.before-kept')
      await quietly(end(answer), 'the answer of an idempotency key was not kept')
      crashPoint('claim.after-kept')
    },
  }
}
