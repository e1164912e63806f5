import type { Pool, PoolClient } from 'pg'
import { readCheckpoint, waitForPosition } from '../../../projections/engine/checkpoint.ts'
import {
  allBalances,
  linesInLogOrder,
  type SettledLine,
} from '../../../projections/ledger/query.ts'
import type { EventLog } from '../../eventlog/types.ts'
import { parseAmount } from '../../kernel/money.ts'
import { AuditFold, type ExpectedLine, type Finding } from './fold.ts'

/** The ledger projection is given this long to reach the end of the log. */
const CATCH_UP_MS = 30_000
/** Ledger lines read at once. */
const PAGE = 2_000
/** Findings kept; more are counted only. */
const MAX_FINDINGS = 1_000

export interface AuditReport {
  readonly ok: boolean
  /** Log and ledger were compared up to here. */
  readonly position: string
  readonly events: number
  readonly lines: number
  readonly settledSources: number
  readonly balances: number
  /** Events after the position: the ledger had not reached them. */
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
  if (end !== undefined) await waitForPosition(pool, 'ledger', end, CATCH_UP_MS)
  const client = await pool.connect()
  try {
    await client.query('begin transaction isolation level repeatable read, read only')
    await client.query('set local statement_timeout to 0')
    return await compare(client, log, onProgress)
  } finally {
    await client.query('rollback').catch(() => undefined)
    client.release()
  }
}

async function compare(
  client: PoolClient,
  log: EventLog,
  onProgress: (events: number) => void,
): Promise<AuditReport> {
  const position = (await readCheckpoint(client, 'ledger'))?.position ?? -1n
  const fold = new AuditFold()
  const ledger = new LedgerReader(client)
  let notCompared = 0
  for await (const event of log.readAll()) {
    if (event.position > position) {
      notCompared += 1
      continue
    }
    const expected = fold.observe(event)
    onProgress(fold.events)
    if (expected.length > 0) await ledger.match(expected, fold.findings)
  }
  fold.finish()
  await ledger.finish(fold.findings)
  const balances = await compareBalances(client, fold)
  return {
    ok: fold.findings.length === 0,
    position: position.toString(),
    events: fold.events,
    lines: fold.lines,
    settledSources: fold.settledSources.size,
    balances,
    notCompared,
    findings: fold.findings.slice(0, MAX_FINDINGS),
    findingsInAll: fold.findings.length,
  }
}

/** Walks the ledger's lines in the order of the log, beside the fold: memory stays flat. */
class LedgerReader {
  readonly #client: PoolClient
  #page: SettledLine[] = []
  #after = '0'
  #exhausted = false

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** Compares the lines of one settlement with what stands next in the ledger. */
  async match(expected: readonly ExpectedLine[], findings: Finding[]): Promise<void> {
    for (const line of expected) {
      // What stands before this line's place in the log has nothing in the log to stand on.
      for (let row = await this.#peek(); row; row = await this.#peek()) {
        if (BigInt(row.position) >= line.position) break
        findings.push(unexplained(row))
        this.#page.shift()
      }
      const row = await this.#peek()
      if (row?.lineId !== line.lineId) {
        findings.push({
          code: 'line_missing',
          sourceId: line.sourceId,
          position: line.position.toString(),
          message: `${line.lineId} is not in the ledger`,
        })
        continue
      }
      this.#page.shift()
      findings.push(...differences(line, row))
    }
  }

  async finish(findings: Finding[]): Promise<void> {
    for (let row = await this.#peek(); row; row = await this.#peek()) {
      findings.push(unexplained(row))
      this.#page.shift()
    }
  }

  async #peek(): Promise<SettledLine | undefined> {
    if (this.#page.length === 0 && !this.#exhausted) {
      this.#page = [...(await linesInLogOrder(this.#client, this.#after, PAGE))]
      this.#after = this.#page.at(-1)?.seq ?? this.#after
      this.#exhausted = this.#page.length < PAGE
    }
    return this.#page[0]
  }
}

function unexplained(row: SettledLine): Finding {
  return {
    code: 'line_unexplained',
    sourceId: row.sourceId,
    position: row.position,
    message: `${row.lineId} stands in the ledger but not in the log`,
  }
}

const comparedFields = [
  'sourceId',
  'nativeId',
  'tenantId',
  'userId',
  'tokenId',
  'surface',
  'model',
  'requestId',
  'sku',
  'rule',
  'quantity',
  'unit',
  'price',
  'per',
  'currency',
  'amount',
  'priceBookVersion',
  'measurement',
] as const

function differences(line: ExpectedLine, row: SettledLine): readonly Finding[] {
  const differing = comparedFields.filter((field) => String(line[field]) !== String(row[field]))
  const fields: string[] = [...differing]
  if (row.position !== line.position.toString()) fields.push('position')
  if (Date.parse(line.settledAt) !== row.settledAtMs) fields.push('settledAt')
  return fields.map((field) => ({
    code: 'line_differs',
    sourceId: line.sourceId,
    position: line.position.toString(),
    message: `${line.lineId}: ${field} differs between log and ledger`,
  }))
}

/** Credits, settled amounts and holds per tenant and currency; returns how many were compared. */
async function compareBalances(client: PoolClient, fold: AuditFold): Promise<number> {
  const rows = await allBalances(client)
  const seen = new Set<string>()
  const differ = (key: string, what: string): void => {
    fold.findings.push({ code: 'balance_differs', sourceId: key, position: '', message: what })
  }
  for (const row of rows) {
    const key = `${row.tenantId} ${row.currency}`
    seen.add(key)
    const expected = fold.balances.get(key) ?? { creditPico: 0n, settledPico: 0n, heldPico: 0n }
    if (parseAmount(row.credit) !== expected.creditPico) differ(key, 'credit differs')
    if (parseAmount(row.settled) !== expected.settledPico) differ(key, 'settled amount differs')
    if (parseAmount(row.held) !== expected.heldPico) differ(key, 'held amount differs')
  }
  for (const [key, expected] of fold.balances) {
    const zero =
      expected.creditPico === 0n && expected.settledPico === 0n && expected.heldPico === 0n
    if (!seen.has(key) && !zero) differ(key, 'the balance is not in the ledger')
  }
  return rows.length
}
