import type { Queryable } from '../../../projections/engine/queryable.ts'

/** Head of the hash chain: how many lines there are and the hash of the last. */
export async function chainHead(
  db: Queryable,
): Promise<{ readonly seq: bigint; readonly hash: string }> {
  const { rows } = await db.query<{ seq: string; hash: string }>(
    `select seq, encode(hash, 'hex') as hash from ledger.chain`,
  )
  return { seq: BigInt(rows[0]?.seq ?? 0), hash: rows[0]?.hash ?? '' }
}
