import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { linesInLogOrder, type SettledLine } from '../../../projections/ledger/query.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import { canonicalPrice } from '../../kernel/money.ts'
import type { Finding, Findings } from './findings.ts'
import type { ExpectedLine } from './fold.ts'

/** Ledger lines read at once. */
const PAGE = 2_000

/** Walks the ledger's lines in the order of the log, beside the fold: memory stays flat. */
export class LedgerReader {
  readonly #client: PoolClient
  #page: SettledLine[] = []
  /** Of the last line the log says there must be. */
  #hash: Buffer = Buffer.alloc(32)
  #after = '0'
  #exhausted = false

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** Compares the lines of one settlement with what stands next in the ledger. */
  async match(expected: readonly ExpectedLine[], findings: Findings): Promise<void> {
    for (const line of expected) {
      this.#hash = chained(this.#hash, line)
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
      findings.push(...differences(line, row, this.#hash.toString('hex')))
    }
  }

  async finish(findings: Findings): Promise<void> {
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

/**
 * The hash of a line as the chain of the ledger has it, written a second time on purpose: from the
 * log alone, so that a changed row cannot change what its successors are compared with.
 */
function chained(previous: Buffer, line: ExpectedLine): Buffer {
  const covered = [
    line.lineId,
    toTimestamp(fromTimestamp(line.settledAt)),
    line.tenantId,
    line.userId,
    line.tokenId,
    line.sourceId,
    line.nativeId,
    line.surface,
    line.model,
    line.sku,
    line.rule,
    line.quantity,
    line.unit,
    canonicalPrice(line.price),
    line.per,
    line.currency,
    line.amount,
    line.priceBookVersion,
    line.measurement,
    line.requestId,
    line.position.toString(),
  ]
  return createHash('sha256').update(previous).update(JSON.stringify(covered)).digest()
}

function differences(line: ExpectedLine, row: SettledLine, hash: string): readonly Finding[] {
  const differing = comparedFields.filter((field) => String(line[field]) !== String(row[field]))
  const fields: string[] = [...differing]
  if (row.position !== line.position.toString()) fields.push('position')
  if (row.hash !== hash) fields.push('hash')
  if (Date.parse(line.settledAt) !== row.settledAtMs) fields.push('settledAt')
  return fields.map((field) => ({
    code: 'line_differs',
    sourceId: line.sourceId,
    position: line.position.toString(),
    message: `${line.lineId}: ${field} differs between log and ledger`,
  }))
}
