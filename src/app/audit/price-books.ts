import type { Pool } from 'pg'
import { canonicalTime, allRows, rowsByKey } from '../../../projections/engine/audited-rows.ts'
import { priceTables } from '../../../projections/prices/query.ts'
import {
  priceBookStream,
  type PriceBookEvent,
  type PriceBookPublished,
} from '../../domain/pricing/events.ts'
import type { EventLog, RecordedEvent } from '../../eventlog/log/types.ts'
import { canonicalPrice } from '../../kernel/money.ts'
import { differencesOf, rowDiffers, rowMissing, rowUnexplained, type Expected } from './compare.ts'
import type { Finding, Findings } from './findings.ts'
import { inSnapshot } from './snapshot.ts'
import { readTo } from './streams.ts'

function bookRow({ data: book, metadata, position }: RecordedEvent<PriceBookEvent>): Expected {
  return {
    version: book.version,
    effective_from: canonicalTime(book.effectiveFrom),
    published_at: canonicalTime(book.publishedAt),
    digest: book.digest,
    published_by: metadata.actor,
    position,
  }
}

function entryRows({ version, entries }: PriceBookPublished): readonly Expected[] {
  return entries.map(({ sku, currency, unit, price, per, demonstration }, n) => {
    const rate = { unit, price: canonicalPrice(price), per, demonstration }
    return { version, n, sku, currency, ...rate }
  })
}

/** Compares every version of the price book with the log; returns how many there are. */
export async function comparePriceBooks(deps: {
  readonly pool: Pool
  readonly log: EventLog
  readonly findings: Findings
}): Promise<number> {
  const { pool, log, findings } = deps
  const table = priceTables.books.name
  // Operators publish them by hand, so there are few.
  const { rows, position } = await inSnapshot(pool, async (snapshot) => ({
    rows: await allRows(snapshot.db, priceTables.books),
    position: snapshot.position('prices'),
  }))
  const standing = new Map(rows.map((row) => [String(row['version']), row]))
  for await (const event of readTo(log, priceBookStream, position)) {
    if (event.type !== 'PriceBookPublished') continue
    const { version } = event.data
    const name = { table, key: version, position: event.position }
    const row = standing.get(version)
    standing.delete(version)
    const says = bookRow(event)
    if (row === undefined) {
      findings.push(rowMissing(name, says))
      continue
    }
    const differences = differencesOf(says, row)
    if (differences.length > 0) findings.push(rowDiffers(name, differences))
    findings.push(...(await compareEntries(pool, event.data, event.position)))
  }
  for (const [version, row] of standing)
    findings.push(rowUnexplained({ table, key: version, position: row['position'] }, row))
  return rows.length
}

async function compareEntries(
  pool: Pool,
  book: PriceBookPublished,
  position: bigint,
): Promise<readonly Finding[]> {
  const { version } = book
  const entries = await inSnapshot(pool, ({ db }) =>
    rowsByKey(db, priceTables.entries, 'version', [version]),
  )
  const found: Finding[] = []
  const standing = new Map(entries.map((entry) => [String(entry['n']), entry]))
  for (const says of entryRows(book)) {
    const entry = standing.get(String(says['n']))
    standing.delete(String(says['n']))
    const key = `${version} ${String(says['sku'])} ${String(says['currency'])}`
    const entryName = { table: priceTables.entries.name, key, position }
    const differing = entry ? differencesOf(says, entry) : []
    if (entry === undefined) found.push(rowMissing(entryName, says))
    else if (differing.length > 0) found.push(rowDiffers(entryName, differing))
  }
  for (const [n, entry] of standing)
    found.push(
      rowUnexplained({ table: priceTables.entries.name, key: `${version} ${n}`, position }, entry),
    )
  return found
}
