import type { PoolClient } from 'pg'
import { movingTypes } from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { invariant } from '../../src/kernel/assert.ts'
import { textColumn } from '../engine/array-literals.ts'
import { notePassedOver } from '../engine/passed-over.ts'
import { fromTables } from '../engine/read-model.ts'
import type { BreakdownRow, Projection } from '../engine/types.ts'
import { chainHash } from './fold/chain.ts'
import type { BalanceDelta, Hold, HoldChange } from './fold/change.ts'
import { checkZeroSum, closingSources, foldLedger, settledSourceOf } from './fold/fold.ts'
import type { LedgerLine } from './line.ts'
import {
  addToSums,
  MOST_UNSUMMED,
  sumsFromVersion6Sql,
  sumsViewsSql,
  summedDays,
  summedHours,
  summedQuarters,
} from './sums.ts'
import {
  adjustments,
  balances,
  chain,
  entries,
  grants,
  holds,
  lines,
  postingsSql,
  settlements,
  ledgerTotals,
} from './tables.ts'

/** The placed ones among the holds of these tasks. */
async function loadHolds(
  client: PoolClient,
  sourceIds: readonly string[],
): Promise<readonly Hold[]> {
  if (sourceIds.length === 0) return []
  const { rows } = await client.query<Omit<Hold, 'amountPico'> & { readonly pico: string }>({
    name: 'ledger.holds.read',
    text: `select source_id as "sourceId", tenant_id as "tenantId", currency,
                  trunc(amount * 1000000000000)::text as pico
           from holds where source_id = any($1::text[]) and state = 'placed'`,
    values: [textColumn(sourceIds)],
  })
  return rows.map(({ sourceId, tenantId, currency, pico }) => {
    return { sourceId, tenantId, currency, amountPico: BigInt(pico) }
  })
}

/** Position of the settlement of a source. */
async function settledAt(client: PoolClient, sourceId: string): Promise<string | undefined> {
  const { rows } = await client.query<{ position: string }>({
    name: 'ledger.settlements.read',
    text: 'select position from settlements where source_id = $1',
    values: [sourceId],
  })
  return rows[0]?.position
}

/**
 * The source of a batch of one, where it is settled already; noted. Of more than one the second settlement
 * breaks a unique key, and the engine halves the batch until the event is alone: only this rare
 * case costs a query, not every batch.
 */
async function settledBefore(
  client: PoolClient,
  [event, ...others]: readonly RecordedEvent[],
): Promise<ReadonlySet<string>> {
  if (event === undefined || others.length > 0) return new Set()
  const sourceId = settledSourceOf(event)
  const earlier = sourceId === undefined ? undefined : await settledAt(client, sourceId)
  if (sourceId === undefined || earlier === undefined) return new Set()
  const { position, id: eventId } = event
  const reason = `${sourceId} is settled at position ${earlier}: the first settlement counts`
  await notePassedOver(client, { projection: 'ledger', position, eventId, reason })
  return new Set([sourceId])
}

/** Inserts lines behind the last one of the chain, and adds to the sums by time once so many lines are not in them. */
async function extendChain(
  client: PoolClient,
  added: readonly LedgerLine[],
  unsummed: number,
): Promise<void> {
  if (added.length === 0) return
  const { rows } = await client.query<{ seq: string; hash: Buffer; summed: string }>({
    name: 'ledger.chain.read',
    text: 'select seq, hash, summed from chain',
  })
  const [head] = rows
  invariant(head, 'the chain has a head')
  let { hash } = head
  const first = BigInt(head.seq) + 1n
  const summed = BigInt(head.summed)
  const hashes = added.map((line) => (hash = chainHash(hash, line)))
  const seqs = added.map((_, n) => first + BigInt(n))
  const last = BigInt(head.seq) + BigInt(added.length)
  const isDue = last - summed >= unsummed
  await allSettledOrThrow([
    // The sums are added to from the lines that stand there.
    lines
      .insert(client, added, { seq: seqs, hash: hashes })
      .then(() => (isDue ? addToSums(client, summed, last) : undefined)),
    client.query({
      name: 'ledger.chain.write',
      text: `update chain set seq = $1::bigint, hash = $2, summed = $3::bigint,
               unsummed_from = case when $3::bigint < $1::bigint
                 then least(unsummed_from, (select min(at) from unnest($4::timestamptz[]) at)) end`,
      // Texts of times are not compared: they may differ in form.
      values: [last, hash, isDue ? last : summed, added.map(({ settledAt }) => settledAt)],
    }),
  ])
}

const closeHolds = holds.merging('close', ['state', 'closed_at', 'position'])

/** Inserts the holds placed in a batch, in the state it leaves them, and closes those placed before. */
async function writeHolds(client: PoolClient, changes: readonly HoldChange[]): Promise<void> {
  const rows = changes.map(({ hold, state, placedAt, closedAt, position }) => {
    const { sourceId, tenantId, currency, amountPico } = hold
    return { sourceId, tenantId, currency, amountPico, state, placedAt, closedAt, position }
  })
  const isPlaced = (row: (typeof rows)[number]): row is typeof row & { placedAt: string } =>
    row.placedAt !== undefined
  await allSettledOrThrow([
    holds.insert(client, rows.filter(isPlaced)),
    closeHolds(
      client,
      rows.filter((row) => !isPlaced(row) && row.state !== 'placed'),
    ),
  ])
}

const setLimits = balances.merging('limits', ['credit_limit'])

/** Adds to the balances; a limit that was set replaces the old one. */
async function writeBalances(client: PoolClient, deltas: readonly BalanceDelta[]): Promise<void> {
  await allSettledOrThrow([
    balances.upsert(client, deltas, { limit: deltas.map(({ limit = 0n }) => limit) }),
    setLimits(
      client,
      deltas.filter(({ limit }) => limit !== undefined),
    ),
  ])
}

async function apply(
  client: PoolClient,
  batch: readonly RecordedEvent[],
  unsummed: number,
): Promise<void> {
  const [held, settled] = await allSettledOrThrow([
    loadHolds(client, closingSources(batch)),
    settledBefore(client, batch),
  ])
  const change = foldLedger(batch, held, settled)
  checkZeroSum(change)
  await allSettledOrThrow([
    extendChain(client, change.lines, unsummed),
    settlements.insert(client, change.settlements),
    entries.insert(client, change.entries),
    adjustments.insert(
      client,
      change.adjustments.map(({ corrects, ...adjustment }) => ({
        ...adjustment,
        lineId: corrects.kind === 'line' ? corrects.lineId : null,
        grantId: corrects.kind === 'grant' ? corrects.grantId : null,
      })),
    ),
    writeHolds(client, [...change.holds.values()]),
    writeBalances(client, [...change.balances.values()]),
    grants.insert(client, change.grants),
    ledgerTotals.upsert(client, [...change.totals.values()]),
  ])
}

async function breakdown(client: PoolClient): Promise<readonly BreakdownRow[]> {
  const { rows } = await client.query<BreakdownRow>(
    `select tenant_id as "tenantId", sku, currency, count(*)::text as lines,
            trim_scale(sum(amount))::text as amount
     from lines group by 1, 2, 3 order by 1, 2, 3`,
  )
  return rows
}

const tables = {
  chain,
  lines,
  settlements,
  entries,
  adjustments,
  holds,
  balances,
  grants,
  summedDays,
  summedHours,
  summedQuarters,
  ledgerTotals,
}

/** The ledger, whose sums by time lack at most so many lines, `MOST_UNSUMMED` or fewer. */
export function ledgerSummedEvery(unsummed: number): Projection {
  return {
    name: 'ledger',
    version: 7,
    upgrades: { 6: sumsFromVersion6Sql },
    ...fromTables(tables, {
      views: [postingsSql, sumsViewsSql].join('\n'),
      totals: `select kind || ' ' || currency as name, trim_scale(sum(amount))::text as total from (
         select 'settled' as kind, currency, settled as amount from balances
         union all select 'held', currency, held from balances
         union all select 'credit', currency, granted + adjusted from balances) t
       group by kind, currency order by kind, currency`,
    }),
    handles: movingTypes,
    apply: (client, batch) => apply(client, batch, unsummed),
    breakdown,
  }
}

/** The per-SKU billing ledger: lines in a hash chain, double entry, holds, balances, sums by time. */
export const ledgerProjection = ledgerSummedEvery(MOST_UNSUMMED)
