import type { PoolClient } from 'pg'
import { formatAmount } from '../../../src/kernel/money.ts'
import { plainColumn, textColumn } from '../../engine/columns.ts'
import type { LedgerLine } from '../line.ts'
import type { Entry, Hold, HoldChange, SettledSource } from '../fold/change.ts'
import { lineColumns, lineMembers } from '../line.ts'

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

/** Where a source was settled. */
export async function settledAt(client: PoolClient, sourceId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ position: string }>({
    name: 'ledger.settlements.read',
    text: 'select position from settlements where source_id = $1',
    values: [sourceId],
  })
  return rows[0]?.position
}

/** A line with its place in the chain. */
export interface ChainedLine {
  readonly seq: bigint
  readonly hash: Buffer
  readonly line: LedgerLine
}

const insertLinesSql = (() => {
  const columns = [
    { name: 'seq', type: 'bigint' },
    ...lineMembers.map(([, column]) => column),
    { name: 'hash', type: 'bytea' },
  ]
  const values = columns.map(({ type }, index) => `$${index + 1}::${type.replace(/\(.*/, '')}[]`)
  return `insert into lines (${columns.map(({ name }) => name).join(', ')})
          select * from unnest(${values.join(', ')})`
})()

/** Values of one member of every line, as a column. */
function columnOf(chained: readonly ChainedLine[], member: keyof LedgerLine): string {
  const { type } = lineColumns[member]
  const values = chained.map(({ line }) => line[member])
  return type === 'bigint' || type === 'int'
    ? plainColumn(values.map((value) => (typeof value === 'string' ? null : value)))
    : textColumn(values.map((value) => (typeof value === 'string' ? value : null)))
}

/** Inserts lines. */
export async function insertLines(
  client: PoolClient,
  chained: readonly ChainedLine[],
): Promise<void> {
  if (chained.length === 0) return
  await client.query({
    name: 'ledger.lines',
    text: insertLinesSql,
    values: [
      plainColumn(chained.map(({ seq }) => seq)),
      ...lineMembers.map(([member]) => columnOf(chained, member)),
      textColumn(chained.map(({ hash }) => String.raw`\x${hash.toString('hex')}`)),
    ],
  })
}

/** Inserts settled sources; a second settlement of one breaks the primary key and so a batch of several. */
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
