/** Dice that fall the same way for the same seed. */
export interface Dice {
  /** Uniform in 0 ≤ x < 1. */
  readonly next: () => number
  /** Whole number, both ends included. */
  readonly integer: (min: number, max: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(items: readonly T[]) => T
  /** Picks by weight. */
  readonly weighted: <T>(items: readonly (readonly [weight: number, item: T])[]) => T
  readonly shuffled: <T>(items: readonly T[]) => T[]
  /** Dice of their own for a part of the run, so that parts do not disturb each other. */
  readonly fork: (name: string) => Dice
}

/** What the gate runs with: its kills strike the same way every time. `npm run faults` has new ones. */
const GATE_SEED = '7'

/** The seed of the tests that kill: `FAULTS_SEED`, or the gate's. */
export function seedOfTests(): string {
  return process.env['FAULTS_SEED'] ?? GATE_SEED
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

/** Mulberry32 over a hash of the seed: ample for choosing faults, for nothing else. */
export function dice(seed: string): Dice {
  let state = hashOf(seed)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1))
  const pick = <T>(items: readonly T[]): T => {
    const item = items[integer(0, items.length - 1)]
    if (item === undefined) throw new RangeError('nothing to pick from')
    return item
  }
  return {
    next,
    integer,
    pick,
    chance: (probability) => next() < probability,
    weighted: (items) => {
      let point = next() * items.reduce((sum, [weight]) => sum + weight, 0)
      for (const [weight, item] of items) {
        point -= weight
        if (point < 0) return item
      }
      return pick(items.map(([, item]) => item))
    },
    shuffled: (items) => {
      const rest = [...items]
      const out: (typeof rest)[number][] = []
      while (rest.length > 0) out.push(...rest.splice(integer(0, rest.length - 1), 1))
      return out
    },
    fork: (name) => dice(`${seed}/${name}`),
  }
}
