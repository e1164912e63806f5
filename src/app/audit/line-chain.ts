import { hash } from 'node:crypto'
import type { StandingRow } from '../../../projections/engine/standing.ts'
import type { Expected } from './compare.ts'
import type { Difference } from './findings.ts'

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

/** What a line's place in the chain leaves in its row. */
export interface Link {
  readonly seq: bigint
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
  /** The last line as it stands. */
  #standing: Link
  /** A row that nothing accounts for, standing where a later line may have been chained to it. */
  #stray: Link | undefined
  #brokenAt: string | undefined

  constructor(head: ChainHead) {
    this.#head = head
    this.#standing = { seq: head.lines, hash: head.hash }
  }

  /** Of the chain as the log has it. */
  get head(): ChainHead {
    return this.#head
  }

  /** The hash of the last line as it stands. */
  get standing(): string {
    return this.#standing.hash
  }

  /** Position of the line at which the chain that stands left that of the log; undefined while it is that. */
  get brokenAt(): string | undefined {
    return this.#isWhole() ? undefined : this.#brokenAt
  }

  /** The places that the next lines have where nothing is wrong; undefined once something was. */
  ahead(lines: readonly Expected[]): readonly Link[] | undefined {
    if (!this.#isWhole() || this.#stray !== undefined) return undefined
    let { lines: seq, hash: last } = this.#head
    return lines.map((line) => {
      seq += 1n
      last = chained(last, line)
      return { seq, hash: last }
    })
  }

  /** Takes lines that stand at the places that `ahead` gave them. */
  advance(links: readonly Link[]): void {
    const last = links.at(-1)
    if (last === undefined) return
    this.#head = { lines: last.seq, hash: last.hash }
    this.#standing = last
  }

  /**
   * Takes the next line of the log and the row that stands for it. Returns in what its place in the chain
   * is neither what the log says nor what follows from the line before it as that stands.
   */
  next(line: Expected, row: StandingRow | undefined): readonly Difference[] {
    const before = this.#standing
    const whole = this.#isWhole()
    const { lines, hash: last } = this.#head
    const said: Link = { seq: lines + 1n, hash: chained(last, line) }
    this.#head = { lines: said.seq, hash: said.hash }
    const stands = linkOf(row)
    if (stands) this.#standing = stands
    const follows = this.#standing.hash === said.hash
    if (!follows && whole) this.#brokenAt = String(line['position'])
    if (stands === undefined) return []
    const stray = follows ? undefined : this.#stray
    if (!follows) this.#stray = undefined
    const possible = follows
      ? [said]
      : [said, ...[before, stray].flatMap((link) => (link ? [linkAfter(link, line)] : []))]
    const found: Difference[] = []
    if (!possible.some(({ hash }) => hash === stands.hash))
      found.push({ field: 'hash', log: said.hash, stands: stands.hash })
    if (!possible.some(({ seq }) => seq === stands.seq))
      found.push({ field: 'seq', log: said.seq.toString(), stands: stands.seq.toString() })
    return found
  }

  /** Takes a row that nothing in the log accounts for. */
  stray(row: StandingRow): void {
    this.#stray = linkOf(row)
  }

  #isWhole(): boolean {
    return this.#standing.hash === this.#head.hash
  }
}

function linkOf(row: StandingRow | undefined): Link | undefined {
  return row && { seq: BigInt(String(row['seq'])), hash: String(row['hash']) }
}

function linkAfter(link: Link, line: Expected): Link {
  return { seq: link.seq + 1n, hash: chained(link.hash, line) }
}
