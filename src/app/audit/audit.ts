import type { Pool, PoolClient } from 'pg'
import {
  readCheckpoint,
  waitForPosition,
  type Checkpoint,
} from '../../../projections/engine/checkpoint.ts'
import { allBalances, inconsistencies } from '../../../projections/ledger/query.ts'
import type { EventLog } from '../../eventlog/types.ts'
import { parseAmount } from '../../kernel/money.ts'
import { type Finding, type Findings, MAX_FINDINGS } from './findings.ts'
import { AuditFold, type ExpectedBalance } from './fold.ts'
import { LedgerReader } from './ledger-reader.ts'

/** The ledger projection is given this long to reach the end of the log. */
const CATCH_UP_MS = 30_000
/** How often it is asked whether the ledger stands still. */
const LOOK_MS = 500

export interface AuditReport {
  readonly ok: boolean
  /** Log and ledger were compared up to here. */
  readonly position: string
  readonly events: number
  readonly lines: number
  readonly settledSources: number
  readonly balances: number
  /** Events after the position: the ledger had not reached them, so only the log was checked there. */
  readonly notCompared: number
  readonly findings: readonly Finding[]
  readonly findingsInAll: number
}

/**
 * Reads the log from its start with a fold of its own, recomputes every line, and compares with
 * Postgres row by row in one snapshot. Read-only.
 */
export async function audit(
  pool: Pool,
  log: EventLog,
  onProgress: (events: number) => void,
): Promise<AuditReport> {
  const end = await log.endPosition()
  if (end !== undefined) await reach(pool, end)
  const client = await pool.connect()
  try {
    await client.query('begin transaction isolation level repeatable read, read only')
    await client.query('set local statement_timeout to 0')
    return await compare(client, log, end, onProgress)
  } finally {
    await client.query('rollback').catch(() => undefined)
    client.release()
  }
}

/** Waits until the ledger has come so far, unless it stands still. */
async function reach(pool: Pool, end: bigint): Promise<void> {
  const untilMs = Date.now() + CATCH_UP_MS
  while (Date.now() < untilMs) {
    if (await waitForPosition(pool, 'ledger', end, LOOK_MS)) return
    if ((await readCheckpoint(pool, 'ledger'))?.stopped !== undefined) return
  }
}

async function compare(
  client: PoolClient,
  log: EventLog,
  wanted: bigint | undefined,
  onProgress: (events: number) => void,
): Promise<AuditReport> {
  const checkpoint = await readCheckpoint(client, 'ledger')
  const position = checkpoint?.position ?? -1n
  const fold = new AuditFold()
  const { findings } = fold
  const ledger = new LedgerReader(client)
  let [events, lines] = [0, 0]
  let balances: Balances | undefined
  for await (const event of log.readAll()) {
    // The log is checked to its end; with the ledger it is compared as far as that has come.
    if (event.position > position) balances ??= copyOf(fold.balances)
    const expected = fold.observe(event)
    onProgress(fold.events)
    if (balances !== undefined) continue
    events += 1
    lines += expected.length
    if (expected.length > 0) await ledger.match(expected, findings)
  }
  fold.finish()
  await ledger.finish(findings)
  if (wanted !== undefined && position < wanted) findings.push(whyBehind(checkpoint, wanted))
  const compared = await compareBalances(client, balances ?? fold.balances, findings)
  for (const { table, key } of await inconsistencies(client, MAX_FINDINGS))
    findings.push({
      code: 'table_inconsistent',
      sourceId: key,
      position: '',
      message: `ledger.${table} does not follow from the lines and entries`,
    })
  return {
    ok: findings.count === 0,
    position: position.toString(),
    events,
    lines,
    settledSources: fold.settledSources.size,
    balances: compared,
    notCompared: fold.events - events,
    findings: findings.kept,
    findingsInAll: findings.count,
  }
}

/** A ledger that stands still is a finding: what it would not take is not settled for anyone. */
function whyBehind(checkpoint: Checkpoint | undefined, wanted: bigint): Finding {
  const stopped = checkpoint?.stopped
  const position = stopped?.position ?? (checkpoint?.position ?? -1n).toString()
  if (stopped === undefined)
    return {
      code: 'ledger_behind',
      sourceId: 'ledger',
      position,
      message: `the ledger did not come to position ${wanted} in time: does a projector run?`,
    }
  return {
    code: 'ledger_stopped',
    sourceId: stopped.eventId ?? 'ledger',
    position,
    message: `the ledger refuses ${stopped.type ?? 'an event'}: ${stopped.reason}`,
  }
}

const nothing: ExpectedBalance = { creditPico: 0n, settledPico: 0n, heldPico: 0n, limitPico: 0n }

/** A copy: later events go on changing the fold's own. */
function copyOf(balances: Balances): Balances {
  return new Map([...balances].map(([key, balance]) => [key, { ...balance }]))
}

/** What the ledger's balances were expected to be when it had come as far as it has. */
type Balances = ReadonlyMap<string, ExpectedBalance>

/** Credits, settled amounts, holds and limits per tenant and currency; returns how many were compared. */
async function compareBalances(
  client: PoolClient,
  balances: Balances,
  findings: Findings,
): Promise<number> {
  const rows = await allBalances(client)
  const seen = new Set<string>()
  const differ = (key: string, what: string): void => {
    findings.push({ code: 'balance_differs', sourceId: key, position: '', message: what })
  }
  for (const row of rows) {
    const key = `${row.tenantId} ${row.currency}`
    seen.add(key)
    const expected = balances.get(key) ?? nothing
    if (parseAmount(row.credit) !== expected.creditPico) differ(key, 'credit differs')
    if (parseAmount(row.settled) !== expected.settledPico) differ(key, 'settled amount differs')
    if (parseAmount(row.held) !== expected.heldPico) differ(key, 'held amount differs')
    if (parseAmount(row.limit) !== expected.limitPico) differ(key, 'limit differs')
  }
  for (const [key, expected] of balances) {
    const zero = Object.values(expected).every((pico) => pico === 0n)
    if (!seen.has(key) && !zero) differ(key, 'the balance is not in the ledger')
  }
  return rows.length
}
