/**
 * What a benchmark is run with. `BENCH_QUICK=1` shrinks every size: it shows that a benchmark works,
 * its figures mean nothing.
 */

/** Whether sizes are shrunk. */
export const isQuick = process.env['BENCH_QUICK'] === '1'

/** The size to run with. */
export function sized<T>(full: T, quick: T): T {
  return isQuick ? quick : full
}

/** A number from the environment, for trying other sizes by hand. */
export function sizeFrom(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback)
  if (!Number.isFinite(value) || value <= 0) throw new RangeError(`${name} must be above 0`)
  return value
}

/** Whether what takes long and says nothing of processor time is measured too. */
export const isPaced = process.env['BENCH_PACED'] !== '0'
