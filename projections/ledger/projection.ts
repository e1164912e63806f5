import type { PoolClient } from 'pg'
import { movingTypes } from '../../src/domain/any-event.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { allOver } from '../../src/kernel/all-over.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import { notePassedOver } from '../engine/passed-over.ts'
import type { BreakdownRow, Projection, ProjectionDigest } from '../engine/types.ts'
import { closingSources, foldLedger, settledSource } from './fold/fold.ts'
import { sumQuarters } from './fold/periods.ts'
import { checkZeroSum } from './fold/zero-sum.ts'
import { indexesSql, tablesSql } from './tables.ts'
import { insertAdjustments } from './write/adjustments.ts'
import { extendChain } from './write/chain.ts'
import { insertGrants } from './write/grants.ts'
import { insertEntries, insertSettlements, loadHolds, settledAt, writeHolds } from './write/rows.ts'
import { writeBalances, writePeriods, writeTotals } from './write/totals.ts'

/**
 * The source of a batch of one, where it is settled already; noted. Of more than one the second settlement
 * breaks a unique key, and the engine halves the batch until the event is alone: what is rare costs a look
 * there, and no batch of many does.
 */
async function settledBefore(
  client: PoolClient,
  [event, ...others]: readonly RecordedEvent[],
): Promise<ReadonlySet<string>> {
  if (event === undefined || others.length > 0) return new Set()
  const sourceId = settledSource(event)
  const earlier = sourceId === undefined ? undefined : await settledAt(client, sourceId)
  if (sourceId === undefined || earlier === undefined) return new Set()
  const { position, id: eventId } = event
  const reason = `${sourceId} is settled at position ${earlier}: the first settlement counts`
  await notePassedOver(client, { projection: 'ledger', position, eventId, reason })
  return new Set([sourceId])
}

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const [holds, settled] = await allOver([
    loadHolds(client, closingSources(batch)),
    settledBefore(client, batch),
  ])
  const change = foldLedger(batch, holds, settled)
  checkZeroSum(change)
  const quarters = [...change.quarters.values()]
  await allOver([
    extendChain(client, change.lines),
    insertSettlements(client, change.settlements),
    insertEntries(client, change.entries),
    insertAdjustments(client, change.adjustments),
    writeHolds(client, [...change.holds.values()]),
    writeBalances(client, [...change.balances.values()]),
    insertGrants(client, change.grants),
    writePeriods(client, 'days', sumQuarters(quarters, 'days')),
    writePeriods(client, 'hours', sumQuarters(quarters, 'hours')),
    writePeriods(client, 'quarters', quarters),
    writeTotals(client, [...change.totals.values()]),
  ])
}

async function digest(client: PoolClient): Promise<ProjectionDigest> {
  return {
    ...(await digestTables(client, {
      chain: 'select * from chain',
      lines: 'select * from lines',
      settlements: 'select * from settlements',
      entries: 'select * from entries',
      adjustments: 'select * from adjustments',
      holds: 'select * from holds',
      balances: 'select * from balances',
      grants: 'select * from grants',
      days: 'select * from days',
      hours: 'select * from hours',
      quarters: 'select * from quarters',
      totals: 'select * from totals',
    })),
    totals: await namedTotals(
      client,
      `select kind || ' ' || currency as name, trim_scale(sum(amount))::text as total from (
         select 'settled' as kind, currency, settled as amount from balances
         union all select 'held', currency, held from balances
         union all select 'credit', currency, granted + adjusted from balances) t
       group by kind, currency order by kind, currency`,
    ),
  }
}

async function breakdown(client: PoolClient): Promise<readonly BreakdownRow[]> {
  const { rows } = await client.query<BreakdownRow>(
    `select tenant_id as "tenantId", sku, currency, count(*)::text as lines,
            trim_scale(sum(amount))::text as amount
     from lines group by 1, 2, 3 order by 1, 2, 3`,
  )
  return rows
}

/** The per-SKU billing ledger: lines in a hash chain, double entry, holds, balances, totals by time. */
export const ledgerProjection: Projection = {
  name: 'ledger',
  version: 4,
  tablesSql,
  indexesSql,
  handles: movingTypes,
  apply,
  digest,
  breakdown,
}
