import type { PoolClient } from 'pg'
import { invariant } from '../../src/kernel/assert.ts'
import { accountEvents, type AccountEventType } from '../../src/domain/account/events.ts'
import { callEvents, type CallEventType } from '../../src/domain/call/events.ts'
import { taskEvents, type TaskEventType } from '../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { digestTables, namedTotals } from '../engine/digest.ts'
import type { BreakdownRow, Projection, ProjectionDigest } from '../engine/types.ts'
import { insertAdjustments } from './write/adjustments.ts'
import { chainHash, type LedgerLine } from './fold/chain.ts'
import type { LedgerChange } from './fold/change.ts'
import { closingSources, foldLedger, type LedgerEvent } from './fold/fold.ts'
import {
  insertEntries,
  insertLines,
  insertSettlements,
  loadHolds,
  writeHolds,
} from './write/rows.ts'
import { indexesSql, tablesSql } from './tables.ts'
import { writeBalances, writeDays } from './write/totals.ts'

/** What moves no money is not even looked at. */
const unmoving: ReadonlySet<string> = new Set([
  'TaskSubmitted',
  'TaskSubmissionUncertain',
  'TaskStatusChanged',
  'TaskSucceeded',
  'TaskDeleted',
  'CallFailed',
  'TenantOpened',
  'UserAdded',
])
const handles = new Set(
  [
    ...(Object.keys(taskEvents) as TaskEventType[]),
    ...(Object.keys(callEvents) as CallEventType[]),
    ...(Object.keys(accountEvents) as AccountEventType[]),
  ].filter((type) => !unmoving.has(type)),
)

function isLedgerEvent(event: RecordedEvent): event is LedgerEvent {
  return (handles as ReadonlySet<string>).has(event.type)
}

async function extendChain(client: PoolClient, lines: readonly LedgerLine[]): Promise<void> {
  if (lines.length === 0) return
  const { rows } = await client.query<{ seq: string; hash: Buffer }>({
    name: 'ledger.chain.read',
    text: 'select seq, hash from chain',
  })
  const [head] = rows
  invariant(head, 'the chain has a head')
  let { hash } = head
  let seq = BigInt(head.seq)
  const chained = lines.map((line) => {
    hash = chainHash(hash, line)
    seq += 1n
    return { seq, hash, line }
  })
  await insertLines(client, chained)
  await client.query({
    name: 'ledger.chain.write',
    text: 'update chain set seq = $1, hash = $2',
    values: [seq, hash],
  })
}

/** Debits are credits: per currency, what the settlements say is what the entries move. */
function checkZeroSum(change: LedgerChange): void {
  const sums = new Map<string, bigint>()
  const add = (key: string, pico: bigint): void => {
    sums.set(key, (sums.get(key) ?? 0n) + pico)
  }
  for (const { currency, kind, debit, amountPico } of change.entries) {
    if (kind === 'settled') add(`${currency} settled`, amountPico)
    if (debit === 'held') add(`${currency} held`, amountPico)
    if (debit === 'available') add(`${currency} held`, -amountPico)
  }
  for (const { currency, settled, held } of change.balances.values()) {
    add(`${currency} settled`, -settled)
    add(`${currency} held`, -held)
  }
  for (const [key, sum] of sums) invariant(sum === 0n, `${key} does not sum to zero`)
}

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const events = batch.filter(isLedgerEvent)
  const change = foldLedger(events, await loadHolds(client, closingSources(events)))
  checkZeroSum(change)
  await insertSettlements(client, change.settlements)
  await extendChain(client, change.lines)
  await insertEntries(client, change.entries)
  await insertAdjustments(client, change.adjustments)
  await writeHolds(client, [...change.holds.values()])
  await writeBalances(client, [...change.balances.values()])
  await writeDays(client, [...change.days.values()])
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
      days: 'select * from days',
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

/** The per-SKU billing ledger: lines in a hash chain, double entry, holds, balances, daily totals. */
export const ledgerProjection: Projection = {
  name: 'ledger',
  version: 2,
  tablesSql,
  indexesSql,
  handles,
  apply,
  digest,
  breakdown,
}
