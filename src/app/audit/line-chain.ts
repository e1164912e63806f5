import { hash } from 'node:crypto'
import type { StandingRow } from '../../../projections/engine/standing.ts'
import type { Expected } from './compare.ts'

/** What a line's hash covers, in this order: written a second time on purpose (see `chained`). */
const covered = [
  'line_id',
  'settled_at',
  'tenant_id',
  'user_id',
  'token_id',
  'source_id',
  'native_id',
  'surface',
  'model',
  'sku',
  'rule',
  'quantity',
  'unit',
  'price',
  'per',
  'currency',
  'amount',
  'price_book_version',
  'measurement',
  'request_id',
  'position',
] as const
/** What lines have been given since: covered where it is there. */
const COVERED_WHERE_SET = 'account_prices'

/** Before the first line: 32 zero bytes, hex. */
export const NO_LINES = '00'.repeat(32)

function form(column: string, value: unknown): unknown {
  if (column === 'quantity' || column === 'per' || column === COVERED_WHERE_SET)
    return Number(value)
  // A row shows microseconds, the chain has milliseconds.
  if (column === 'settled_at') return String(value).replace(/000Z$/, 'Z')
  return typeof value === 'bigint' ? value.toString() : (value ?? null)
}

/**
 * The hash of a line as the chain of the ledger has it, after the hash of the line before it, both in
 * hex. Written a second time on purpose: an auditor that shares what it checks would share its faults.
 */
export function chained(previous: string, line: Expected | StandingRow): string {
  const isSet = (line[COVERED_WHERE_SET] ?? null) !== null
  const columns = isSet ? [...covered, COVERED_WHERE_SET] : covered
  const content = JSON.stringify(columns.map((column) => form(column, line[column])))
  const bytes = Buffer.allocUnsafe(previous.length / 2 + Buffer.byteLength(content))
  bytes.write(previous, 'hex')
  bytes.write(content, previous.length / 2)
  return hash('sha256', bytes, 'hex')
}

/** How far the chain has come: how many lines, and the hash of the last. */
export interface ChainHead {
  readonly lines: bigint
  /** Hex. */
  readonly hash: string
}

/**
 * The chain as the log has it, beside the chain as it stands. Where they part a finding says why; from
 * there on a line is right when its hash follows from the line before it as that stands, so that one
 * break is not a finding for every later line.
 */
export class LineChain {
  #head: ChainHead
  #standing: string
  /** Of a row that nothing accounts for, standing where a later line may have been chained to it. */
  #stray: string | undefined
  #brokenAt: string | undefined

  constructor(head: ChainHead) {
    this.#head = head
    this.#standing = head.hash
  }

  /** Of the chain as the log has it. */
  get head(): ChainHead {
    return this.#head
  }

  /** The hash of the last line as it stands. */
  get standing(): string {
    return this.#standing
  }

  /** Position of the line at which the chain that stands left that of the log; undefined while it is that. */
  get brokenAt(): string | undefined {
    return this.#standing === this.#head.hash ? undefined : this.#brokenAt
  }

  /** The hashes that the next lines have where nothing is wrong; undefined once something was. */
  ahead(lines: readonly Expected[]): readonly string[] | undefined {
    if (this.#standing !== this.#head.hash || this.#stray !== undefined) return undefined
    let last = this.#head.hash
    return lines.map((line) => (last = chained(last, line)))
  }

  /** Takes lines that stand with the hashes that `ahead` told of them. */
  advance(hashes: readonly string[]): void {
    const last = hashes.at(-1)
    if (last === undefined) return
    this.#head = { lines: this.#head.lines + BigInt(hashes.length), hash: last }
    this.#standing = last
  }

  /**
   * Takes the next line of the log and the row that stands for it. Returns the hash it should have when
   * the one that stands follows from neither chain.
   */
  next(line: Expected, row: StandingRow | undefined): string | undefined {
    const before = this.#standing
    const whole = before === this.#head.hash
    const said = chained(this.#head.hash, line)
    this.#head = { lines: this.#head.lines + 1n, hash: said }
    const stands = row?.['hash']
    if (typeof stands === 'string') this.#standing = stands
    if (this.#standing === said) return undefined
    if (whole) this.#brokenAt = String(line['position'])
    if (row === undefined) return undefined
    const strays = this.#stray === undefined ? [] : [chained(this.#stray, line)]
    this.#stray = undefined
    return [chained(before, line), ...strays].includes(this.#standing) ? undefined : said
  }

  /** Takes a row that nothing in the log accounts for. */
  stray(row: StandingRow): void {
    this.#stray = String(row['hash'])
  }
}
