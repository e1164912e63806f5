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

/** How many tenants the calls of a text benchmark are of, by chance. */
export const TENANTS = sizeFrom('BENCH_TENANTS', sized(200, 5))
