import type { Pool, PoolClient, QueryConfig } from 'pg'
import { allSettledOrThrow } from '../../kernel/all-settled.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { DomainError } from '../../kernel/errors.ts'
import { type Currency, formatAmount, parseAmount } from '../../kernel/money.ts'
import { type PlaceRequest, readTaskPlaces } from './throttle/concurrent-tasks.ts'
import { LedgerFloor } from './ledger-floor.ts'
import { readSpendable, spendableSql, spendableValues } from './spendable.ts'
import {
  type BalanceKey,
  createTenantQueue,
  type BatchResult,
  ledgerWentBack,
  type QueueRefusals,
} from './tenant-queue.ts'
import { createBatchedWriter } from '../../storage/postgres/batched-writes.ts'

interface AdmissionRequest extends PlaceRequest {
  readonly currency: Currency
  /** Decimal string. */
  readonly hold: string
}

export interface Admissions {
  /**
   * Reserves the hold. When the same id is reserved already, under one `Idempotency-Key`, the
   * greater hold counts and the reservation's age starts again.
   * @throws DomainError `insufficient_balance` (details: currency, hold, available),
   *   `idempotency_in_progress` when another token or another currency reserved the id,
   *   `rate_limited` when the token, its user or its tenant is at its task limit,
   *   `database_unavailable` when the balance cannot be read or too many requests are waiting.
   */
  readonly admit: (request: AdmissionRequest) => Promise<void>
  /** The hold is in the log at this position: the reservation ends when it is projected. */
  readonly recorded: (platformId: string, position: bigint) => Promise<void>
  /** Releases the reservation now, because nothing was written to the log. */
  readonly release: (platformId: string) => Promise<void>
}

/**
 * Two requests under one `Idempotency-Key` have one id, and the log accepts one of them: the
 * greater hold stays reserved until the log has decided. A reservation that is recorded in the log
 * no longer changes. Rows are written in the order of their ids, because two currencies have two
 * locks and must not deadlock.
 */
const OR_RAISE = `on conflict (platform_id) do update
             set hold = greatest(a.hold, excluded.hold), admitted_at = excluded.admitted_at
             where a.position is null and a.currency = excluded.currency
               and a.token_id is not distinct from excluded.token_id
             returning a.platform_id`

/** Admissions of one process; requests of one tenant and currency share transactions. */
export function createAdmissions(
  pool: Pool,
  ledger: LedgerFloor = new LedgerFloor(monotonicClock),
): Admissions {
  const note = createPositionWriter(pool)
  return {
    admit: createTenantQueue<AdmissionRequest>(pool, {
      decide: (client, batch) => decideBatch(client, batch, ledger),
      tryAdmitAll: (batch) => tryAdmitAll(batch, ledger.mark().position),
    }),
    recorded: (platformId, position) => {
      ledger.appended(position)
      return note(platformId, position)
    },
    release: async (platformId) => {
      await pool.query('delete from ops.admissions where platform_id = $1', [platformId])
    },
  }
}

/** Columns of the reservations, except the tenant and the currency that the batch shares. */
function reservationColumns(batch: readonly AdmissionRequest[]): readonly (readonly string[])[] {
  return [
    batch.map((request) => request.platformId),
    batch.map((request) => request.userId),
    batch.map((request) => request.tokenId),
    batch.map((request) => request.hold),
  ]
}

/** In nearly all cases the balance covers every request, and no holder has a task limit. */
function tryAdmitAll(
  batch: readonly AdmissionRequest[],
  leastPosition: bigint,
): QueryConfig | undefined {
  const [first] = batch
  if (first === undefined || batch.some(({ taskLimits }) => taskLimits.length > 0)) return undefined
  // One statement cannot raise a reservation twice.
  if (new Set(batch.map(({ platformId }) => platformId)).size < batch.length) return undefined
  const { tenantId, currency } = first
  return {
    name: 'admission-pass-all',
    text: `with ${spendableSql},
           asked as (
             select * from unnest($5::text[], $6::text[], $7::text[], $8::numeric[])
               as a (platform_id, user_id, token_id, hold)),
           passing as (
             select tenant_id, currency from spendable
             where currency = $4 and position >= $9
               and amount >= (select sum(hold) from asked)),
           admitted as (
             insert into ops.admissions as a
               (platform_id, tenant_id, user_id, token_id, currency, hold)
             select platform_id, tenant_id, user_id, token_id, currency, hold from asked, passing
             order by platform_id ${OR_RAISE})
           -- Where an id is another's, each is decided; what was reserved for the others is theirs then.
           select (select count(*) from admitted) = (select count(*) from asked) as passed`,
    values: [...spendableValues([tenantId]), currency, ...reservationColumns(batch), leastPosition],
  }
}

/** Decides requests of one tenant and currency, in the order they arrived. */
async function decideBatch(
  client: PoolClient,
  batch: readonly AdmissionRequest[],
  ledger: LedgerFloor,
): Promise<BatchResult> {
  const [first] = batch
  if (first === undefined) return { refusals: Promise.resolve([]) }
  const sent = ledger.mark()
  const [reserved, places, spendable] = await allSettledOrThrow([
    readReserved(client, batch),
    readTaskPlaces(client, batch),
    readSpendable(client, [first.tenantId]),
  ])
  const { available, position = -1n } = spendable.get(first.tenantId) ?? {}
  if (position >= 0n && !ledger.allows(position, sent))
    return { refusals: Promise.resolve(batch.map(ledgerWentBack)) }
  let availablePico = available?.get(first.currency) ?? 0n
  const admitted = new Map<string, AdmissionRequest>()
  const refusals = batch.map((request) => {
    const { platformId, currency, tokenId } = request
    const holdPico = parseAmount(request.hold)
    const known = reserved.get(platformId)
    // The log already has this id: this request reserves nothing, and the log answers it.
    if (known?.isRecorded === true) return undefined
    if (known !== undefined && (known.currency !== currency || known.tokenId !== tokenId))
      return reservedByAnother()
    const knownPico = known?.holdPico ?? 0n
    const morePico = holdPico > knownPico ? holdPico - knownPico : 0n
    const refusal = covers(availablePico, morePico)
      ? places.refusal(request)
      : insufficientBalance(request, holdPico, availablePico + knownPico)
    if (refusal !== undefined) return refusal
    availablePico -= morePico
    places.take(request)
    reserved.set(platformId, {
      currency,
      tokenId,
      holdPico: knownPico + morePico,
      isRecorded: false,
    })
    admitted.set(platformId, { ...request, hold: formatAmount(knownPico + morePico) })
    return undefined
  })
  return { refusals: reserveAll(client, batch, admitted, refusals) }
}

interface Reserved {
  readonly currency: string
  readonly tokenId: string | null
  readonly holdPico: bigint
  /** The request of the reservation is in the log. */
  readonly isRecorded: boolean
}

/** Reads the reservations of these ids; an `Idempotency-Key` can give two requests one id. */
async function readReserved(
  client: PoolClient,
  batch: readonly AdmissionRequest[],
): Promise<Map<string, Reserved>> {
  const { rows } = await client.query<{
    platform_id: string
    currency: string
    token_id: string | null
    hold: string
    is_recorded: boolean
  }>({
    name: 'admission-reserved',
    text: `select platform_id, currency, token_id, hold::text, position is not null as is_recorded
           from ops.admissions where platform_id = any($1::text[])`,
    values: [batch.map(({ platformId }) => platformId)],
  })
  return new Map(
    rows.map(({ platform_id, currency, token_id, hold, is_recorded }) => [
      platform_id,
      { currency, tokenId: token_id, holdPico: parseAmount(hold), isRecorded: is_recorded },
    ]),
  )
}

/** Returns the refusals once the rest is reserved; another currency's request may be first. */
async function reserveAll(
  client: PoolClient,
  batch: readonly AdmissionRequest[],
  admitted: ReadonlyMap<string, AdmissionRequest>,
  refusals: QueueRefusals,
): Promise<QueueRefusals> {
  const [first] = admitted.values()
  if (first === undefined) return refusals
  const { rows } = await client.query<{ platform_id: string }>({
    name: 'admission-insert',
    text: `insert into ops.admissions as a (tenant_id, currency, platform_id, user_id, token_id, hold)
           select $1, $2, * from unnest($3::text[], $4::text[], $5::text[], $6::numeric[])
             as asked (platform_id)
           order by platform_id ${OR_RAISE}`,
    values: [first.tenantId, first.currency, ...reservationColumns([...admitted.values()])],
  })
  const written = new Set(rows.map(({ platform_id }) => platform_id))
  return batch.map(({ platformId }, index) =>
    admitted.has(platformId) && !written.has(platformId) ? reservedByAnother() : refusals[index],
  )
}

/** Another token or currency has the id, and the log decides which request gets it. */
function reservedByAnother(): DomainError {
  return new DomainError(
    'idempotency_in_progress',
    'a request with this Idempotency-Key is in progress',
    {},
  )
}

/** Whether an available amount covers a hold: what is free is not refused, whatever is owed. */
export function covers(availablePico: bigint, holdPico: bigint): boolean {
  return holdPico === 0n || holdPico <= availablePico
}

/** The balance does not cover a hold: nothing was started. The error names both amounts. */
export function insufficientBalance(
  { currency }: Pick<BalanceKey, 'currency'>,
  holdPico: bigint,
  availablePico: bigint,
): DomainError {
  const hold = formatAmount(holdPico)
  const available = formatAmount(availablePico)
  return new DomainError(
    'insufficient_balance',
    `the request needs a hold of ${hold} ${currency}; ${available} ${currency} is available`,
    { currency, hold, available },
  )
}

interface Note {
  readonly platformId: string
  readonly position: bigint
}

/** Notes the log position of each reservation; the sweep looks up a lost note. */
function createPositionWriter(pool: Pool) {
  const write = createBatchedWriter<Note>(pool, (notes) => ({
    // Unnamed, so that Postgres plans it for this number of notes and the table's present size.
    text: `update ops.admissions a set position = n.position
           from unnest($1::text[], $2::bigint[]) as n (platform_id, position)
           where a.platform_id = n.platform_id`,
    values: [notes.map((note) => note.platformId), notes.map((note) => note.position)],
  }))
  return (platformId: string, position: bigint): Promise<void> => write({ platformId, position })
}
