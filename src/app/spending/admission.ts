import type { Pool, PoolClient, QueryConfig } from 'pg'
import { DomainError } from '../../kernel/errors.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'
import { type PlaceRequest, readTaskPlaces } from '../throttle/concurrent-tasks.ts'
import { createNoteTaker } from './reservation-notes.ts'
import { readSpendable, spendableSql, spendableValues } from './spendable.ts'
import { type BalanceKey, createTenantQueue, type Decided } from './tenant-queue.ts'

/**
 * Lets a request spend only what is there, also with several replicas at once: what the ledger
 * projection knows, less what was admitted and is not projected yet and what calls were told to
 * use, decided under a lock per tenant and currency. Limits on concurrent tasks are kept in the same
 * transaction.
 */

export interface AdmissionRequest extends PlaceRequest {
  readonly currency: Currency
  /** Decimal string. */
  readonly hold: string
}

export interface Admissions {
  /**
   * Reserves the hold. @throws DomainError `insufficient_balance` (details: currency, hold,
   * available), `rate_limited` when the token, its user or its tenant has as many tasks as it may, `database_unavailable` when
   * the balance cannot be told or too many are waiting.
   */
  readonly admit: (request: AdmissionRequest) => Promise<void>
  /** The hold is in the log at this position: the reservation ends when it is projected. */
  readonly recorded: (platformId: string, position: bigint) => Promise<void>
  /** Nothing was written to the log: the reservation ends now. */
  readonly withdraw: (platformId: string) => Promise<void>
}

/** The same Idempotency-Key twice at once: one of them will be turned away by the log. */
const ONCE = 'on conflict (platform_id) do nothing'

/** Admissions of one process; those of one tenant and currency share transactions. */
export function createAdmissions(pool: Pool): Admissions {
  return {
    admit: createTenantQueue(pool, { decide: decideBatch, passAll }),
    recorded: createNoteTaker(pool),
    withdraw: async (platformId) => {
      await pool.query('delete from ops.admissions where platform_id = $1', [platformId])
    },
  }
}

/** Columns of the reservations of admitted requests, but for the tenant and the currency they share. */
function reservationColumns(batch: readonly AdmissionRequest[]): readonly (readonly string[])[] {
  return [
    batch.map((request) => request.platformId),
    batch.map((request) => request.userId),
    batch.map((request) => request.tokenId),
    batch.map((request) => request.hold),
  ]
}

/** Nearly always the balance covers all of them, and nobody is limited. */
function passAll(batch: readonly AdmissionRequest[]): QueryConfig | undefined {
  const [first] = batch
  if (first === undefined || batch.some(({ taskLimits }) => taskLimits.length > 0)) return undefined
  const { tenantId, currency } = first
  return {
    name: 'admission-pass-all',
    text: `with ${spendableSql},
           asked as (
             select * from unnest($5::text[], $6::text[], $7::text[], $8::numeric[])
               as a (platform_id, user_id, token_id, hold)),
           passing as (
             select tenant_id, currency from spendable
             where currency = $4 and amount >= (select sum(hold) from asked)),
           -- It is done though nobody reads of it.
           admitted as (
             insert into ops.admissions (platform_id, tenant_id, user_id, token_id, currency, hold)
             select platform_id, tenant_id, user_id, token_id, currency, hold from asked, passing
             ${ONCE})
           select exists (select from passing) as passed`,
    values: [...spendableValues([tenantId]), currency, ...reservationColumns(batch)],
  }
}

/** Requests of one tenant and currency, in the order they came. */
async function decideBatch(
  client: PoolClient,
  batch: readonly AdmissionRequest[],
): Promise<Decided> {
  const [first] = batch
  if (first === undefined) return { refusals: [], written: Promise.resolve() }
  const places = await readTaskPlaces(client, batch)
  const spendable = await readSpendable(client, [first.tenantId])
  let availablePico = spendable.get(first.tenantId)?.available.get(first.currency) ?? 0n
  const admitted: AdmissionRequest[] = []
  const refusals = batch.map((request) => {
    const holdPico = parseAmount(request.hold)
    const refusal =
      holdPico > availablePico
        ? insufficientBalance(request, holdPico, availablePico)
        : places.refusal(request)
    if (refusal !== undefined) return refusal
    availablePico -= holdPico
    places.take(request)
    admitted.push(request)
    return undefined
  })
  return { refusals, written: insertAll(client, admitted) }
}

async function insertAll(client: PoolClient, admitted: readonly AdmissionRequest[]): Promise<void> {
  const [first] = admitted
  if (first === undefined) return
  await client.query({
    name: 'admission-insert',
    text: `insert into ops.admissions (tenant_id, currency, platform_id, user_id, token_id, hold)
           select $1, $2, * from unnest($3::text[], $4::text[], $5::text[], $6::numeric[])
           ${ONCE}`,
    values: [first.tenantId, first.currency, ...reservationColumns(admitted)],
  })
}

/** The balance does not cover a hold: nothing was started. The caller is told both. */
export function insufficientBalance(
  { currency }: Pick<BalanceKey, 'currency'>,
  holdPico: bigint,
  availablePico: bigint,
): DomainError {
  const hold = formatAmount(holdPico)
  const available = formatAmount(availablePico)
  return new DomainError(
    'insufficient_balance',
    `the request holds ${hold} ${currency} until it is settled; ${available} ${currency} is available`,
    { currency, hold, available },
  )
}
