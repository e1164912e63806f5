import type { Pool, QueryConfig } from 'pg'
import type { Queryable } from '../../../projections/engine/queryable.ts'

/** How long Postgres takes for the statements of a read. */

export type Read = (db: Queryable) => Promise<unknown>

/** The times of the statements that a read sends, in milliseconds. */
async function explained(
  pool: Pool,
  read: Read,
): Promise<readonly [executed: number, planned: number]> {
  let [executed, planned] = [0, 0]
  await read({
    query: async (asked: QueryConfig | string, values: readonly unknown[] = []) => {
      const text = typeof asked === 'string' ? asked : asked.text
      const given = [...(typeof asked === 'string' ? values : (asked.values ?? []))]
      const { rows } = await pool.query<{ 'QUERY PLAN': readonly Record<string, number>[] }>({
        text: `explain (analyze, buffers, timing off, format json) ${text}`,
        values: given,
      })
      for (const plan of rows[0]?.['QUERY PLAN'] ?? []) {
        executed += plan['Execution Time'] ?? 0
        planned += plan['Planning Time'] ?? 0
      }
      return pool.query({ text, values: given }) as never
    },
  })
  return [executed, planned]
}

/** The times of a read that is repeated, after a first one that is not counted. */
export async function timesOf(pool: Pool, read: Read, rounds: number) {
  const times: (readonly [number, number])[] = []
  for (let round = 0; round <= rounds; round += 1) times.push(await explained(pool, read))
  return times.slice(1)
}
