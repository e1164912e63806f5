import type { Pool } from 'pg'
import {
  chainHead,
  placedHolds,
  sumEntries,
  sumLines,
  totals,
  type SummedStretch,
  type LedgerTotal,
} from '../../../projections/ledger/query.ts'
import { parseAmount } from '../../kernel/money.ts'
import { rowDiffers, sumDifferences } from './compare.ts'
import type { Findings } from './findings.ts'
import { BEFORE_ALL_EVENTS, inSnapshot } from './snapshot.ts'

/** Lines or entries summed by one statement. */
const STRETCH_ROWS = 100_000

interface Sum {
  n: number
  amountPico: bigint
}

class Sums {
  readonly #sums = new Map<string, Sum>()

  add(rows: readonly LedgerTotal[]): void {
    for (const { kind, currency, part, n, amount } of rows) {
      const key = [kind, currency, part].join(' ').trimEnd()
      const sum = this.#sums.get(key) ?? { n: 0, amountPico: 0n }
      sum.n += n
      sum.amountPico += parseAmount(amount)
      this.#sums.set(key, sum)
    }
  }

  keys(): Iterable<string> {
    return this.#sums.keys()
  }

  of(key: string): Sum {
    return this.#sums.get(key) ?? { n: 0, amountPico: 0n }
  }
}

async function addAll(sums: Sums, read: (after: bigint) => Promise<SummedStretch>): Promise<void> {
  for (let after: bigint | undefined = BEFORE_ALL_EVENTS; after !== undefined;) {
    const stretch = await read(after)
    sums.add(stretch.sums)
    after = stretch.next
  }
}

function sumsOf({ n, amountPico }: Sum): readonly bigint[] {
  return [BigInt(n), amountPico]
}

/**
 * Compares the totals over all tenants with their lines, entries and holds, which were compared
 * with the log before. Totals and holds are read at one moment; lines and entries up to then never
 * change and are summed afterwards, stretch by stretch.
 */
export async function auditTotals(deps: {
  readonly pool: Pool
  readonly findings: Findings
}): Promise<void> {
  const { pool, findings } = deps
  const stands = new Sums()
  const log = new Sums()
  const end = await inSnapshot(pool, async ({ db, position }) => {
    stands.add(await totals(db))
    log.add(await placedHolds(db))
    return { seq: (await chainHead(db)).seq, position: position('ledger') }
  })
  const limit = STRETCH_ROWS
  await addAll(log, (after) => sumLines(pool, { after, to: end.seq, limit }))
  await addAll(log, (after) => sumEntries(pool, { after, to: end.position, limit }))
  for (const key of new Set([...stands.keys(), ...log.keys()])) {
    const found = sumDifferences(['n', 'amount'], sumsOf(log.of(key)), sumsOf(stands.of(key)))
    if (found.length > 0) findings.push(rowDiffers({ table: 'ledger.totals', key }, found))
  }
}
