import type { Clock } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { newCallId } from '../../../kernel/ids.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import { type ClaimDeps, heldClaim, keyUntold } from './claim.ts'
import { createRenewal } from './renewal.ts'
import { RepeatedAnswer } from './repeated-answer.ts'
import { openAnswer } from './sealed-answer.ts'
import { findClaim, type FoundClaim, takeClaim } from './statements.ts'
import type { CallClaims } from './types.ts'

/** A key may be freed between trying to take it and looking at who has it, so often at most. */
const MAX_TRIES = 3

/** Keys of all replicas, in Postgres. `owner` names this process among those that are present. */
export function createCallClaims(
  deps: ClaimDeps & { readonly clock: Clock; readonly owner: string },
): CallClaims {
  const { pool, secret, clock, crashPoint, owner } = deps
  const renewal = createRenewal(deps)
  const hashOf = (purpose: string, parts: readonly string[]): string =>
    keyedHash(secret, purpose, parts).toString('hex')
  return {
    take: async ({ tenantId }, { path, key, bodyHash }) => {
      const claimKey = hashOf('call-claim', [tenantId, path, key])
      const hashed = hashOf('call-claim-body', [bodyHash])
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const name = { claimKey, callId: newCallId(clock.nowMs()) }
        const isTaken = await takeClaim(pool, { ...name, bodyHash: hashed, owner }).catch(untold)
        if (isTaken) {
          const claim = heldClaim(deps, renewal, name)
          crashPoint('claim.after-taken')
          return claim
        }
        const found = await findClaim(pool, claimKey).catch(untold)
        if (found !== undefined) await refuse(deps, found, hashed)
      }
      throw new DomainError('idempotency_in_progress', 'this Idempotency-Key is in use', {})
    },
  }
}

function untold(error: unknown): never {
  throw keyUntold(error)
}

/** Returns where the key has become free. @throws as `CallClaims.take` */
async function refuse(deps: ClaimDeps, found: FoundClaim, bodyHash: string): Promise<void> {
  const { callId, answer } = found
  const refusal = (code: ConstructorParameters<typeof DomainError>[0], message: string) =>
    new DomainError(code, message, { callId })
  if (found.bodyHash !== bodyHash)
    throw refusal('idempotency_key_reused', 'this Idempotency-Key was used with another request')
  if (answer !== undefined) {
    const kept = await openAnswer(deps.secret, callId, answer).catch((error: unknown) => {
      deps.logger.error({ err: error, callId }, 'a kept answer cannot be opened')
      return undefined
    })
    if (kept !== undefined) throw new RepeatedAnswer(kept)
  }
  if (found.isLeased)
    throw refusal(
      'idempotency_in_progress',
      'a request with this Idempotency-Key is still under way',
    )
  if (found.mayBeSettled)
    throw refusal(
      'idempotency_answer_not_kept',
      'the call of this Idempotency-Key was made or may have been, and its answer is not kept: look up the receipt of the x-call-id of this answer, and use a new key to make another',
    )
}
