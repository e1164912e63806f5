import type { Pool, PoolClient } from 'pg'
import { availableAsOf } from '../../../projections/ledger/query.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'
import { type PlaceRequest, readTaskPlaces } from '../limits/concurrent-tasks.ts'
import { createNoteTaker } from './reservation-notes.ts'

/**
 * Lets a request spend only what is there, also with several replicas at once: what the ledger
 * projection knows, less what was admitted and is not projected yet, decided under a lock per
 * tenant and currency. A token's limit on concurrent tasks is kept in the same transaction.
 */

/** First key of the advisory locks, so that they meet no other use. */
const LOCK_SPACE = 7_207_002
const LOCK_TIMEOUT_MS = 5_000
/** Admissions decided in one transaction; what arrives meanwhile goes into the next. */
const MAX_BATCH = 256
/** Admissions waiting for a tenant; more are refused as overload. */
const MAX_WAITING = 2_000
/** Who has waited for others this long is refused as well. */
const MAX_WAIT_MS = 4_000

export interface AdmissionRequest extends PlaceRequest {
  readonly currency: Currency
  /** Decimal string. */
  readonly hold: string
}

export interface Admissions {
  /**
   * Reserves the hold. @throws DomainError `insufficient_balance` (details: currency, hold,
   * available), `rate_limited` when the token has as many tasks as it may, `log_unavailable` when
   * the balance cannot be told or too many are waiting.
   */
  readonly admit: (request: AdmissionRequest) => Promise<void>
  /** The hold is in the log at this position: the reservation ends when it is projected. */
  readonly recorded: (platformId: string, position: bigint) => Promise<void>
  /** Nothing was written to the log: the reservation ends now. */
  readonly withdraw: (platformId: string) => Promise<void>
}

interface Waiting {
  readonly request: AdmissionRequest
  readonly untilMs: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Admissions of one process; those of one tenant and currency share transactions. */
export function createAdmissions(pool: Pool): Admissions {
  const queues = new Map<string, Waiting[]>()

  const drain = async (key: string, queue: Waiting[]): Promise<void> => {
    for (;;) {
      const nowMs = performance.now()
      // The oldest wait in front.
      while ((queue[0]?.untilMs ?? nowMs) < nowMs) queue.shift()?.reject(unavailable(undefined))
      const batch = queue.splice(0, MAX_BATCH)
      if (batch.length === 0) break
      try {
        const refused = await decideBatch(
          pool,
          batch.map((waiting) => waiting.request),
        )
        for (const { request, resolve, reject } of batch) {
          const refusal = refused.get(request.platformId)
          if (refusal === undefined) resolve()
          else reject(refusal)
        }
      } catch (error) {
        const failure = isDomainError(error) ? error : unavailable(error)
        for (const { reject } of batch) reject(failure)
      }
    }
    queues.delete(key)
  }

  return {
    admit: (request) =>
      new Promise((resolve, reject) => {
        const key = queueKey(request)
        const queue = queues.get(key)
        const waiting = { request, untilMs: performance.now() + MAX_WAIT_MS, resolve, reject }
        if (queue !== undefined) {
          if (queue.length >= MAX_WAITING) reject(unavailable(undefined))
          else queue.push(waiting)
          return
        }
        const opened = [waiting]
        queues.set(key, opened)
        void drain(key, opened)
      }),
    recorded: createNoteTaker(pool),
    withdraw: async (platformId) => {
      await pool.query('delete from ops.admissions where platform_id = $1', [platformId])
    },
  }
}

function queueKey(request: Pick<AdmissionRequest, 'tenantId' | 'currency'>): string {
  return `${request.tenantId}\n${request.currency}`
}

function unavailable(cause: unknown): DomainError {
  return new DomainError('log_unavailable', 'the balance cannot be checked at the moment', {
    reason: cause instanceof Error ? cause.message : 'overload',
  })
}

/** One transaction for requests of one tenant and currency. Returns the refusals by platform id. */
async function decideBatch(
  pool: Pool,
  batch: readonly AdmissionRequest[],
): Promise<ReadonlyMap<string, DomainError>> {
  const [first] = batch
  const refused = new Map<string, DomainError>()
  if (first === undefined) return refused
  const client = await pool.connect()
  try {
    // One journey; each of these statements sees what was committed before it.
    await client.query(
      `begin; set local lock_timeout = ${LOCK_TIMEOUT_MS};
       select pg_advisory_xact_lock(${LOCK_SPACE}, hashtext(${client.escapeLiteral(queueKey(first))}))`,
    )
    const places = await readTaskPlaces(client, batch)
    let availablePico = await availableNow(client, first)
    const admitted: AdmissionRequest[] = []
    for (const request of batch) {
      const holdPico = parseAmount(request.hold)
      const refusal =
        holdPico > availablePico ? insufficient(request, availablePico) : places.refusal(request)
      if (refusal === undefined) {
        availablePico -= holdPico
        places.take(request)
        admitted.push(request)
      } else refused.set(request.platformId, refusal)
    }
    if (admitted.length > 0) await insertAll(client, admitted)
    await client.query('commit')
    client.release()
    return refused
  } catch (error) {
    // Ends the session and with it the transaction and its lock.
    client.release(true)
    throw error
  }
}

/**
 * In pico: balance with projected holds as of a position, less reservations not projected by then.
 * Reservations outlive their projection by a while (see the sweep), so none is missed in between.
 */
async function availableNow(
  client: PoolClient,
  { tenantId, currency }: AdmissionRequest,
): Promise<bigint> {
  const known = await availableAsOf(client, { tenantId, currency })
  const { rows } = await client.query<{ reserved: string }>({
    name: 'admission-reserved',
    text: `select coalesce(sum(hold), 0)::text as reserved from ops.admissions
           where tenant_id = $1 and currency = $2
             and coalesce(position, 9223372036854775807) > $3`,
    values: [tenantId, currency, known?.position ?? -1n],
  })
  return (known?.availablePico ?? 0n) - parseAmount(rows[0]?.reserved ?? '0')
}

async function insertAll(client: PoolClient, admitted: readonly AdmissionRequest[]): Promise<void> {
  await client.query({
    name: 'admission-insert',
    text: `insert into ops.admissions (platform_id, tenant_id, token_id, currency, hold)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::numeric[])
           -- The same Idempotency-Key twice at once: one of them will be turned away by the log.
           on conflict (platform_id) do nothing`,
    values: [
      admitted.map((request) => request.platformId),
      admitted.map((request) => request.tenantId),
      admitted.map((request) => request.tokenId),
      admitted.map((request) => request.currency),
      admitted.map((request) => request.hold),
    ],
  })
}

function insufficient(request: AdmissionRequest, availablePico: bigint): DomainError {
  return new DomainError('insufficient_balance', 'the balance does not cover this request', {
    currency: request.currency,
    hold: request.hold,
    available: formatAmount(availablePico),
  })
}
