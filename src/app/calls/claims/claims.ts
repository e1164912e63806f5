import { type Clock, monotonicClock } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { newCallId } from '../../../kernel/ids.ts'
import { idempotencyOf, keyedHash } from '../../../kernel/keyed-hash.ts'
import { setTimeout } from 'node:timers/promises'
import { pause } from '../../../kernel/pause.ts'
import { type CallClaim, type CallClaims, type KeptAnswer, RepeatedAnswer } from './types.ts'
import { MAX_KEPT_ANSWER_BYTES, openAnswer, sealAnswer } from './sealed-answer.ts'
import {
  type ClaimName,
  endClaim,
  findClaim,
  type FoundClaim,
  type KeptBound,
  LEASE_MS,
  markSettling,
  removeClaim,
  renewClaims,
  takeClaim,
} from './statements.ts'
import type { Pool } from 'pg'
import type { Log } from '../../../kernel/log.ts'
import type { CrashPoint } from '../../crash-points.ts'
import { runForAll } from '../../../platform/sharer-context.ts'

/** A key may be freed between the try and the look at its holder; this bounds the tries. */
const MAX_TRIES = 3

/**
 * The answers that one tenant keeps; a further one is not kept. Postgres takes about twice as much on
 * disk.
 */
const MAX_TENANT_KEPT_BYTES = 4 * 1024 ** 3

/** Claims of keys over all replicas, in Postgres. `owner` names this process in `ops.workers`. */
export function createCallClaims(
  deps: ClaimDeps & { readonly clock: Clock; readonly owner: string },
): CallClaims {
  const { pool, secret, clock, crashPoint, owner } = deps
  const { maxKeptBytes = MAX_TENANT_KEPT_BYTES } = deps
  const renewal = createRenewal(deps)
  const endings = createEndings()
  const hashOf = (purpose: string, parts: readonly string[]): string =>
    keyedHash(secret, purpose, parts).toString('hex')
  return {
    take: async ({ tenantId }, { path, key, bodyHash }) => {
      const claimKey = hashOf('call-claim', [tenantId, path, key])
      const hashed = hashOf('call-claim-body', [bodyHash])
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const name = { claimKey, callId: newCallId(clock.nowMs()) }
        const isTaken = await takeClaim(pool, { ...name, bodyHash: hashed, owner }).catch(
          rethrowAsUnknown,
        )
        if (isTaken) {
          const tenantKey = hashOf('call-claim-tenant', [tenantId])
          const bound = { tenantKey, maxBytes: maxKeptBytes }
          const idempotency = idempotencyOf(secret, key, bodyHash)
          const claim = heldClaim(deps, { renewal, endings }, { name, idempotency, bound })
          crashPoint('claim.after-taken')
          return claim
        }
        const found = await findClaim(pool, claimKey).catch(rethrowAsUnknown)
        if (found !== undefined) await refuse(deps, found, hashed)
      }
      throw new DomainError('idempotency_in_progress', 'this Idempotency-Key is in use', {})
    },
  }
}

function rethrowAsUnknown(error: unknown): never {
  throw keyStateUnknown(error)
}

/** Returns when the key has become free. @throws as `CallClaims.take` */
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
    throw refusal('idempotency_in_progress', 'a request with this Idempotency-Key is in progress')
  if (found.mayBeSettled)
    throw refusal(
      'idempotency_answer_not_kept',
      'the call with this Idempotency-Key was made, or may have been, and its answer is not kept: GET /v1/receipts/{x-call-id} of this answer says which, and use a new key for another call',
    )
}

interface ClaimDeps {
  readonly pool: Pool
  /** Shared by all replicas. */
  readonly secret: string
  readonly logger: Log
  readonly crashPoint: CrashPoint
  /** Bytes of the kept answers of one tenant. */
  readonly maxKeptBytes?: number | undefined
}

/** The state of a key is unknown. */
function keyStateUnknown(cause: unknown): DomainError {
  const message = 'the Idempotency-Key cannot be checked at the moment'
  const reason = cause instanceof Error ? cause.message : 'unknown'
  return new DomainError('database_unavailable', message, { reason })
}

/** A key that this process took for a call. */
interface TakenKey extends Pick<CallClaim, 'idempotency'> {
  readonly name: ClaimName
  readonly bound: KeptBound
}

/**
 * A claim that this process took.
 *
 * When its holder dies, the claim's `may_be_settled`, written before the settlement, decides
 * whether the call may be made again. If it is not set, nothing was settled, and nothing can be any
 * more, because a holder that is only slow finds its claim taken: the call may be made again. If it
 * is set, the call may never be made again: a log without a settlement proves nothing, because the
 * dead process may have left one in its spool, which its next start appends to the log.
 */
function heldClaim(
  deps: ClaimDeps,
  { renewal, endings }: { readonly renewal: Renewal; readonly endings: Endings },
  { name, idempotency, bound }: TakenKey,
): CallClaim {
  const { pool, secret, logger, crashPoint } = deps
  const { callId } = name
  let phase: 'open' | 'settling' | 'settled' | 'over' = 'open'
  const end = async (answer: KeptAnswer | undefined): Promise<boolean> => {
    const isKept = answer !== undefined && answer.body.length <= MAX_KEPT_ANSWER_BYTES
    const sealed = isKept ? await sealAnswer(secret, callId, answer) : undefined
    return endClaim(pool, name, sealed, bound)
  }
  renewal.hold(name)
  return {
    callId,
    idempotency,
    settling: async (patienceMs) => {
      // A settlement does not wait for its token's share of the pool.
      const isOurs = await runForAll(() => markInTime(pool, name, patienceMs))
      if (!isOurs)
        throw new DomainError(
          'idempotency_in_progress',
          'another request took over this Idempotency-Key, because this one took too long; this one was not charged',
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
      const remove = () => removeClaim(pool, name)
      await runForAll(remove).catch((error: unknown) => {
        logger.warn({ err: error, callId }, 'an idempotency key is taken until Postgres answers')
        endings.later(remove)
      })
    },
    keep: async (answer) => {
      if (phase !== 'settled') return undefined
      phase = 'over'
      crashPoint('claim.before-kept')
      const isKept = await runForAll(() => end(answer)).catch((error: unknown) => {
        logger.warn({ err: error, callId }, 'the answer of an idempotency key was not kept')
        // Without the answer: its caller is informed that it is not kept, and many answers would
        // fill the memory.
        endings.later(() => end(undefined))
        return false
      })
      crashPoint('claim.after-kept')
      return isKept
    },
  }
}

const RETRY_MS = 500

/** @throws DomainError `database_unavailable` */
async function markInTime(pool: Pool, name: ClaimName, patienceMs: number): Promise<boolean> {
  const untilMs = monotonicClock.nowMs() + patienceMs
  for (;;) {
    try {
      return await markSettling(pool, name)
    } catch (error) {
      if (monotonicClock.nowMs() >= untilMs) throw keyStateUnknown(error)
    }
    await pause(RETRY_MS)
  }
}

/** Claims whose end Postgres did not take. */
interface Endings {
  /** Tries it again until Postgres takes it, or the lease of the claim has ended by itself. */
  readonly later: (end: () => Promise<unknown>) => void
}

/**
 * Retries the ends of claims, one after the other, so that a key is free as soon as Postgres is
 * available. A claim is identified with its call: a late end does not change a key that another
 * call has taken.
 */
function createEndings(): Endings {
  const waiting = new Set<{ readonly end: () => Promise<unknown>; readonly untilMs: number }>()
  let isTrying = false
  const tryAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      // A stopping process does not wait for that: its claims are free as soon as it is gone.
      await setTimeout(RETRY_MS, undefined, { ref: false })
      for (const one of waiting) {
        waiting.delete(one)
        const hasFailed = await one.end().then(
          () => false,
          () => true,
        )
        if (!hasFailed) continue
        // In the next round the others come first.
        if (monotonicClock.nowMs() < one.untilMs) waiting.add(one)
        break
      }
    }
    isTrying = false
  }
  return {
    later: (end) => {
      waiting.add({ end, untilMs: monotonicClock.nowMs() + LEASE_MS })
      if (isTrying) return
      isTrying = true
      void runForAll(tryAll)
    },
  }
}

/** Three renewals may fail before a lease ends. */
const RENEW_EVERY_MS = LEASE_MS / 4

/** The claims of this process whose calls are in flight; there are no more than calls. */
interface Renewal {
  readonly hold: (claim: ClaimName) => void
  readonly drop: (claim: ClaimName) => void
}

/** Renews all held claims together; without any, no timer runs. */
export function createRenewal(
  { pool, logger }: { readonly pool: Pool; readonly logger: Log },
  everyMs: number = RENEW_EVERY_MS,
): Renewal {
  const held = new Set<ClaimName>()
  let timer: NodeJS.Timeout | undefined
  const renew = (): void => {
    renewClaims(pool, [...held]).catch((error: unknown) => {
      logger.warn({ err: error }, 'claims of idempotency keys could not be renewed')
    })
  }
  return {
    hold: (claim) => {
      held.add(claim)
      timer ??= runForAll(() => setInterval(renew, everyMs)).unref()
    },
    drop: (claim) => {
      held.delete(claim)
      if (held.size > 0) return
      clearInterval(timer)
      timer = undefined
    },
  }
}
