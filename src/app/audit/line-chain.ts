import { hash } from 'node:crypto'
import type { AuditedRow } from '../../../projections/engine/audited-rows.ts'
import type { Expected } from './compare.ts'
import type { Difference } from './findings.ts'

/**
 * The members that a line's hash covers, in this order: repeated here on purpose (see `chained`).
 */
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
/** Columns added to lines later: the hash covers them up to the last that is set. */
const coveredWhereSet = ['account_prices', 'tags', 'end_user'] as const
const numbers: ReadonlySet<string> = new Set(['quantity', 'per', 'account_prices'])

/** Before the first line: 32 zero bytes, hex. */
export const NO_LINES = '00'.repeat(32)

function form(column: string, value: unknown): unknown {
  if (numbers.has(column)) return value === null || value === undefined ? null : Number(value)
  // A row shows microseconds, the chain uses milliseconds.
  if (column === 'settled_at') return String(value).replace(/000Z$/, 'Z')
  return typeof value === 'bigint' ? value.toString() : (value ?? null)
}

/** The members of a line that its hash covers, in their order. */
export function coveredMembers(line: Expected | AuditedRow): readonly unknown[] {
  const lastSet = coveredWhereSet.findLastIndex((column) => (line[column] ?? null) !== null)
  const columns = lastSet < 0 ? covered : [...covered, ...coveredWhereSet.slice(0, lastSet + 1)]
  return columns.map((column) => form(column, line[column]))
}

/**
 * The hash of a line in the ledger's chain, given the hash of the line before it, both in hex.
 * Computed a second time on purpose.
 */
export function chained(previous: string, line: Expected | AuditedRow): string {
  const content = JSON.stringify(coveredMembers(line))
  const bytes = Buffer.allocUnsafe(previous.length / 2 + Buffer.byteLength(content))
  bytes.write(previous, 'hex')
  bytes.write(content, previous.length / 2)
  return hash('sha256', bytes, 'hex')
}

/** State of the chain: the number of lines, and the hash of the last. */
export interface ChainHead {
  readonly lines: bigint
  /** Hex. */
  readonly hash: string
}

/** The columns that a line's place in the chain sets in its row. */
export interface Link {
  readonly seq: bigint
  /** Hex. */
  readonly hash: string
}

/**
 * The chain by the log, and the chain by the rows. Where they differ a finding says why. From there
 * on a line is correct when its hash follows from the row before it, so that one break does not
 * cause a finding for every later line.
 */
export class LineChain {
  #head: ChainHead
  /** The last line by the rows. */
  #stored: Link
  /** A row that no event explains, and to which a later line may have been chained. */
  #stray: Link | undefined
  #brokenAt: string | undefined

  constructor(head: ChainHead) {
    this.#head = head
    this.#stored = { seq: head.lines, hash: head.hash }
  }

  /** Head of the chain by the log. */
  get head(): ChainHead {
    return this.#head
  }

  /** The hash of the last line by the rows. */
  get storedHead(): string {
    return this.#stored.hash
  }

  /** Position of the line at which the rows' chain left the log's; undefined while they agree. */
  get brokenAt(): string | undefined {
    return this.#isWhole() ? undefined : this.#brokenAt
  }

  /** The links of the next lines; undefined after a fault. */
  ahead(lines: readonly Expected[]): readonly Link[] | undefined {
    if (!this.#isWhole() || this.#stray !== undefined) return undefined
    let { lines: seq, hash: last } = this.#head
    return lines.map((line) => {
      seq += 1n
      last = chained(last, line)
      return { seq, hash: last }
    })
  }

  /** Takes lines whose rows have the links that `ahead` returned. */
  advance(links: readonly Link[]): void {
    const last = links.at(-1)
    if (last === undefined) return
    this.#head = { lines: last.seq, hash: last.hash }
    this.#stored = last
  }

  /**
   * Takes the next line of the log and its row. Returns the link columns that match neither the log
   * nor the row before it.
   */
  next(line: Expected, row: AuditedRow | undefined): readonly Difference[] {
    const before = this.#stored
    const whole = this.#isWhole()
    const { lines, hash: last } = this.#head
    const due: Link = { seq: lines + 1n, hash: chained(last, line) }
    this.#head = { lines: due.seq, hash: due.hash }
    const stored = linkOf(row)
    if (stored) this.#stored = stored
    const follows = this.#stored.hash === due.hash
    if (!follows && whole) this.#brokenAt = String(line['position'])
    if (stored === undefined) return []
    const stray = follows ? undefined : this.#stray
    if (!follows) this.#stray = undefined
    const possible = follows
      ? [due]
      : [due, ...[before, stray].flatMap((link) => (link ? [linkAfter(link, line)] : []))]
    const found: Difference[] = []
    if (!possible.some(({ hash }) => hash === stored.hash))
      found.push({ field: 'hash', log: due.hash, stands: stored.hash })
    if (!possible.some(({ seq }) => seq === stored.seq))
      found.push({ field: 'seq', log: due.seq.toString(), stands: stored.seq.toString() })
    return found
  }

  /** Takes a row that no event explains. */
  stray(row: AuditedRow): void {
    this.#stray = linkOf(row)
  }

  #isWhole(): boolean {
    return this.#stored.hash === this.#head.hash
  }
}

function linkOf(row: AuditedRow | undefined): Link | undefined {
  return row && { seq: BigInt(String(row['seq'])), hash: String(row['hash']) }
}

function linkAfter(link: Link, line: Expected): Link {
  return { seq: link.seq + 1n, hash: chained(link.hash, line) }
}
