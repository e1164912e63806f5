import type { BreakdownRow, ProjectionDigest } from './types.ts'

/** Differences by tenant and SKU that are kept; more are counted only. */
const MAX_DIFFERENCES = 1_000

/** Charges of one tenant for one SKU, in the live tables and in the rebuilt ones. */
export interface BreakdownDifference {
  readonly tenantId: string
  readonly sku: string
  readonly currency: string
  readonly live: Pick<BreakdownRow, 'lines' | 'amount'>
  readonly rebuilt: Pick<BreakdownRow, 'lines' | 'amount'>
}

/** Tables of one moment: their digest, and lines and money where the read model has them. */
export interface Digested {
  readonly digest: ProjectionDigest
  readonly breakdown: readonly BreakdownRow[] | undefined
}

/** The live tables and the rebuilt ones at the same position. */
export interface RebuildComparison {
  readonly position: bigint
  /** The failure's message when the live tables could not be read. */
  readonly live: ProjectionDigest | string
  readonly rebuilt: ProjectionDigest
  readonly equal: boolean
  /** Tables that differ. */
  readonly tables: readonly string[]
  /** Differences of lines or money; undefined for a read model that has none, or cannot be read. */
  readonly differences: readonly BreakdownDifference[] | undefined
  readonly differencesInAll: number
}

const none = { lines: '0', amount: '0' }

function keyOf({ tenantId, sku, currency }: BreakdownRow): string {
  return `${tenantId}\n${sku}\n${currency}`
}

function differencesOf(
  live: readonly BreakdownRow[],
  rebuilt: readonly BreakdownRow[],
): readonly BreakdownDifference[] {
  const liveRows = new Map(live.map((row) => [keyOf(row), row]))
  const rebuiltRows = new Map(rebuilt.map((row) => [keyOf(row), row]))
  const all = new Map([...liveRows, ...rebuiltRows])
  const pick = (row: BreakdownRow | undefined) =>
    row ? { lines: row.lines, amount: row.amount } : none
  return [...all].flatMap(([key, { tenantId, sku, currency }]) => {
    const before = pick(liveRows.get(key))
    const after = pick(rebuiltRows.get(key))
    if (before.lines === after.lines && before.amount === after.amount) return []
    return [{ tenantId, sku, currency, live: before, rebuilt: after }]
  })
}

/** Puts the live tables (or why they cannot be read) beside the rebuilt ones. */
export function compareDigests(
  position: bigint,
  live: Digested | string,
  rebuilt: Digested,
): RebuildComparison {
  if (typeof live === 'string')
    return {
      position,
      live,
      rebuilt: rebuilt.digest,
      equal: false,
      tables: Object.keys(rebuilt.digest.tables),
      differences: undefined,
      differencesInAll: 0,
    }
  const before = live.digest.tables
  const tables = Object.entries(rebuilt.digest.tables).flatMap(([name, { rows, sum }]) =>
    before[name]?.rows === rows && before[name].sum === sum ? [] : [name],
  )
  const differences =
    live.breakdown && rebuilt.breakdown && differencesOf(live.breakdown, rebuilt.breakdown)
  return {
    position,
    live: live.digest,
    rebuilt: rebuilt.digest,
    equal: live.digest.hash === rebuilt.digest.hash && live.digest.rows === rebuilt.digest.rows,
    tables,
    differences: differences?.slice(0, MAX_DIFFERENCES),
    differencesInAll: differences?.length ?? 0,
  }
}
