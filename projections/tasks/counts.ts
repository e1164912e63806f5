import type { PoolClient } from 'pg'
import { isVisible, type Standing, type TaskChange } from './fold.ts'
import { COARSE_SHIFT, taskCounts, FINE_SHIFT } from './tables.ts'

interface Delta {
  readonly scopeId: number
  readonly level: number
  readonly bucket: number
  readonly status: string
  readonly model: string
  n: bigint
}

/** A change with its place in its scope. */
export interface PlacedChange {
  readonly change: TaskChange
  readonly scopeId: number
  readonly seq: bigint
  readonly model: string
}

function deltasOf(placed: readonly PlacedChange[]): readonly Delta[] {
  const deltas = new Map<string, Delta>()
  const add = (place: PlacedChange, standing: Standing, n: bigint): void => {
    const { scopeId, seq, model } = place
    const { status } = standing
    const buckets = [0, Number(seq >> BigInt(COARSE_SHIFT)), Number(seq >> BigInt(FINE_SHIFT))]
    for (const [level, bucket] of buckets.entries()) {
      const key = `${scopeId}/${level}/${bucket}/${status}/${model}`
      const delta = deltas.get(key)
      if (delta) delta.n += n
      else deltas.set(key, { scopeId, level, bucket, status, model, n })
    }
  }
  for (const place of placed) {
    const { known, standing } = place.change
    if (known && isVisible(known)) add(place, known, -1n)
    if (isVisible(standing)) add(place, standing, 1n)
  }
  return [...deltas.values()].filter(({ n }) => n !== 0n)
}

/** Updates the counts by the changes of a batch. */
export async function writeTaskCounts(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  await taskCounts.upsert(client, deltasOf(placed))
}
