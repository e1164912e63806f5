/** Places of moments on the width of a picture: long waits are folded, so that short steps stay visible. */

/** A wait that is drawn narrow; positions are shares of the width, 0 to 1. */
export interface Fold {
  readonly from: number
  readonly to: number
  readonly lengthMs: number
}

/** A label below the picture. */
export interface Tick {
  readonly at: number
  /** Time since the first moment. */
  readonly elapsedMs: number
}

export interface TimeScale {
  /** Position of a moment, 0 to 1; moments outside are at the ends. */
  readonly at: (atMs: number) => number
  readonly folds: readonly Fold[]
  readonly ticks: readonly Tick[]
}

/** Share of the width that a folded wait gets. */
const FOLDED = 0.09
const MAX_FOLDS = 5
/** A shorter wait is never folded. */
const SHORTEST_FOLD_MS = 10_000
/** A wait is folded where it is so many times as long as all that stays unfolded. */
const LONGER_THAN_REST = 1.5
/** Labels closer than this to the one before are left out. */
const LABEL_APART = 0.12

/** The waits to fold: the longest one, as long as it outweighs everything that would stay. */
function foldedWaits(waits: readonly number[]): ReadonlySet<number> {
  const folded = new Set<number>()
  const byLength = [...waits.keys()].toSorted((a, b) => (waits[b] ?? 0) - (waits[a] ?? 0))
  let rest = waits.reduce((sum, wait) => sum + wait, 0)
  for (const index of byLength) {
    const wait = waits[index] ?? 0
    rest -= wait
    if (folded.size === MAX_FOLDS || wait < SHORTEST_FOLD_MS || wait < LONGER_THAN_REST * rest)
      break
    folded.add(index)
  }
  return folded
}

/** A scale over moments, in any order; one moment alone is in the middle. */
export function timeScale(momentsMs: readonly number[]): TimeScale {
  const moments = [...new Set(momentsMs)].toSorted((a, b) => a - b)
  const waits = moments.slice(1).map((atMs, index) => atMs - (moments[index] ?? 0))
  if (waits.length === 0) return { at: () => 0.5, folds: [], ticks: [{ at: 0.5, elapsedMs: 0 }] }
  const folded = foldedWaits(waits)
  const drawnMs = waits.reduce((sum, wait, index) => (folded.has(index) ? sum : sum + wait), 0)
  const drawn = drawnMs === 0 ? 0 : 1 - folded.size * FOLDED
  const foldedShare = drawnMs === 0 ? 1 / folded.size : FOLDED
  const places: number[] = [0]
  const folds: Fold[] = []
  for (const [index, wait] of waits.entries()) {
    const from = places[index] ?? 0
    const to = from + (folded.has(index) ? foldedShare : (wait / drawnMs) * drawn)
    places.push(to)
    if (folded.has(index)) folds.push({ from, to, lengthMs: wait })
  }
  return {
    at: (atMs) => placeOf(atMs, moments, places),
    folds,
    ticks: ticksOf(moments, places, folds),
  }
}

function placeOf(atMs: number, moments: readonly number[], places: readonly number[]): number {
  const next = moments.findIndex((moment) => moment >= atMs)
  if (next === 0) return 0
  if (next === -1) return 1
  const [fromMs = 0, toMs = 0] = [moments[next - 1], moments[next]]
  const [from = 0, to = 1] = [places[next - 1], places[next]]
  return from + ((atMs - fromMs) / (toMs - fromMs)) * (to - from)
}

/**
 * The first and the last moment, then where folds begin, then whatever has room. The end of a fold has none: its own
 * label says how long it is.
 */
function ticksOf(
  moments: readonly number[],
  places: readonly number[],
  folds: readonly Fold[],
): readonly Tick[] {
  const [firstMs = 0] = moments
  const all = moments
    .map((atMs, index) => ({ at: places[index] ?? 0, elapsedMs: atMs - firstMs }))
    .filter(({ at }) => !folds.some(({ to }) => to === at))
  const isFoldStart = ({ at }: Tick): boolean => folds.some(({ from }) => from === at)
  const ordered = [...all.slice(0, 1), ...all.slice(-1), ...all.filter(isFoldStart), ...all]
  const kept: Tick[] = []
  for (const tick of ordered)
    if (kept.every(({ at }) => Math.abs(at - tick.at) >= LABEL_APART)) kept.push(tick)
  return kept.toSorted((a, b) => a.at - b.at)
}
