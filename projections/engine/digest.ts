import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { ProjectionDigest, TableDigest } from './types.ts'

/**
 * One hash over the rows of several tables. `tables` maps a name to a `select` of what counts (no
 * leases or other operational columns). The hash of a table is the sum of its rows' hashes, so it
 * depends on no order and needs no sort, at any size.
 */
export async function digestTables(
  client: PoolClient,
  tables: Readonly<Record<string, string>>,
): Promise<Pick<ProjectionDigest, 'rows' | 'hash' | 'tables'>> {
  const hash = createHash('sha256')
  const digests: Record<string, TableDigest> = {}
  let rows = 0
  for (const [name, select] of Object.entries(tables)) {
    const result = await client.query<{ rows: string; sum: string }>(
      `select count(*) as rows,
              coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as sum
       from (${select}) t`,
    )
    const row = result.rows[0]
    hash.update(`${name} ${row?.rows} ${row?.sum}\n`)
    digests[name] = { rows: Number(row?.rows ?? 0), sum: row?.sum ?? '0' }
    rows += digests[name].rows
  }
  return { rows, hash: hash.digest('hex'), tables: digests }
}

/** Runs a query of two text columns, a name and a total. */
export async function namedTotals(
  client: PoolClient,
  select: string,
): Promise<Readonly<Record<string, string>>> {
  const { rows } = await client.query<{ name: string; total: string }>(select)
  return Object.fromEntries(rows.map((row) => [row.name, row.total]))
}
