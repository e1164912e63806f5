import type { PoolClient } from 'pg'
import { formatAmount } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { LedgerLine } from '../fold/chain.ts'
import type { Entry, Hold, HoldChange, SettledSource } from '../fold/change.ts'

/** The placed ones among the holds of these tasks. */
export async function loadHolds(
  client: PoolClient,
  sourceIds: readonly string[],
): Promise<readonly Hold[]> {
  if (sourceIds.length === 0) return []
  const { rows } = await client.query<{
    source_id: string
    tenant_id: string
    currency: string
    pico: string
  }>({
    name: 'ledger.holds.read',
    text: `select source_id, tenant_id, currency, trunc(amount * 1000000000000)::text as pico
           from holds where source_id = any($1::text[]) and state = 'placed'`,
    values: [textColumn(sourceIds)],
  })
  return rows.map((row) => ({
    sourceId: row.source_id,
    tenantId: row.tenant_id,
    currency: row.currency,
    amountPico: BigInt(row.pico),
  }))
}

/** A line with its place in the chain. */
export interface ChainedLine {
  readonly seq: bigint
  readonly hash: Buffer
  readonly line: LedgerLine
}

/** Inserts lines. */
export async function insertLines(
  client: PoolClient,
  chained: readonly ChainedLine[],
): Promise<void> {
  if (chained.length === 0) return
  const text = (of: (line: LedgerLine) => string | null): string =>
    textColumn(chained.map(({ line }) => of(line)))
  const plain = (of: (line: LedgerLine) => number | bigint): string =>
    plainColumn(chained.map(({ line }) => of(line)))
  await client.query({
    name: 'ledger.lines',
    text: `insert into lines
             (seq, line_id, settled_at, tenant_id, user_id, token_id, source_id, native_id,
              surface, model, sku, rule, quantity, unit, price, per, currency, amount,
              price_book_version, measurement, request_id, position, hash)
           select * from unnest(
             $1::bigint[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[],
             $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
             $13::bigint[], $14::text[], $15::numeric[], $16::int[], $17::text[], $18::numeric[],
             $19::text[], $20::text[], $21::text[], $22::bigint[], $23::bytea[])`,
    values: [
      plainColumn(chained.map(({ seq }) => seq)),
      text((line) => line.lineId),
      text((line) => line.settledAt),
      text((line) => line.tenantId),
      text((line) => line.userId),
      text((line) => line.tokenId),
      text((line) => line.sourceId),
      text((line) => line.nativeId),
      text((line) => line.surface),
      text((line) => line.model),
      text((line) => line.sku),
      text((line) => line.rule),
      plain((line) => line.quantity),
      text((line) => line.unit),
      text((line) => line.price),
      plain((line) => line.per),
      text((line) => line.currency),
      text((line) => line.amount),
      text((line) => line.priceBookVersion),
      text((line) => line.measurement),
      text((line) => line.requestId),
      plain((line) => line.position),
      textColumn(chained.map(({ hash }) => String.raw`\x${hash.toString('hex')}`)),
    ],
  })
}

/** Inserts settled sources; a second settlement of one breaks the primary key and so the batch. */
export async function insertSettlements(
  client: PoolClient,
  settlements: readonly SettledSource[],
): Promise<void> {
  if (settlements.length === 0) return
  await client.query({
    name: 'ledger.settlements',
    text: `insert into settlements (source_id, tenant_id, currency, amount, lines, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::int[],
                                $6::bigint[])`,
    values: [
      textColumn(settlements.map(({ sourceId }) => sourceId)),
      textColumn(settlements.map(({ tenantId }) => tenantId)),
      textColumn(settlements.map(({ currency }) => currency)),
      textColumn(settlements.map(({ amountPico }) => formatAmount(amountPico))),
      plainColumn(settlements.map(({ lines }) => lines)),
      plainColumn(settlements.map(({ position }) => position)),
    ],
  })
}

/** Inserts entries. */
export async function insertEntries(client: PoolClient, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return
  await client.query({
    name: 'ledger.entries',
    text: `insert into entries
             (position, n, kind, source_id, tenant_id, currency, debit, credit, amount)
           select * from unnest($1::bigint[], $2::int[], $3::text[], $4::text[], $5::text[],
                                $6::text[], $7::text[], $8::text[], $9::numeric[])`,
    values: [
      plainColumn(entries.map(({ position }) => position)),
      plainColumn(entries.map(({ n }) => n)),
      textColumn(entries.map(({ kind }) => kind)),
      textColumn(entries.map(({ sourceId }) => sourceId)),
      textColumn(entries.map(({ tenantId }) => tenantId)),
      textColumn(entries.map(({ currency }) => currency)),
      textColumn(entries.map(({ debit }) => debit)),
      textColumn(entries.map(({ credit }) => credit)),
      textColumn(entries.map(({ amountPico }) => formatAmount(amountPico))),
    ],
  })
}

/** Inserts the holds placed in a batch, in the state it leaves them. */
async function insertHolds(client: PoolClient, holds: readonly HoldChange[]): Promise<void> {
  if (holds.length === 0) return
  await client.query({
    name: 'ledger.holds.insert',
    text: `insert into holds
             (source_id, tenant_id, currency, amount, state, placed_at, closed_at, position)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::text[],
                                $6::timestamptz[], $7::timestamptz[], $8::bigint[])`,
    values: [
      textColumn(holds.map(({ hold }) => hold.sourceId)),
      textColumn(holds.map(({ hold }) => hold.tenantId)),
      textColumn(holds.map(({ hold }) => hold.currency)),
      textColumn(holds.map(({ hold }) => formatAmount(hold.amountPico))),
      textColumn(holds.map(({ state }) => state)),
      textColumn(holds.map(({ placedAt }) => placedAt)),
      textColumn(holds.map(({ closedAt }) => closedAt)),
      plainColumn(holds.map(({ position }) => position)),
    ],
  })
}

/** Closes holds that were placed before a batch. */
async function closeHolds(client: PoolClient, holds: readonly HoldChange[]): Promise<void> {
  if (holds.length === 0) return
  await client.query({
    name: 'ledger.holds.close',
    text: `update holds h set state = c.state, closed_at = c.closed_at, position = c.position
           from unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[])
             as c (source_id, state, closed_at, position)
           where h.source_id = c.source_id`,
    values: [
      textColumn(holds.map(({ hold }) => hold.sourceId)),
      textColumn(holds.map(({ state }) => state)),
      textColumn(holds.map(({ closedAt }) => closedAt)),
      plainColumn(holds.map(({ position }) => position)),
    ],
  })
}

/** Writes what a batch does to holds. */
export async function writeHolds(client: PoolClient, holds: readonly HoldChange[]): Promise<void> {
  await insertHolds(
    client,
    holds.filter(({ placedAt }) => placedAt !== undefined),
  )
  await closeHolds(
    client,
    holds.filter(({ placedAt, state }) => placedAt === undefined && state !== 'placed'),
  )
}
