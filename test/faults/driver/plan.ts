import { crashPoints, type CrashPointName } from '../../../src/app/crash-points.ts'
import type { Target } from './processes.ts'
import type { Dice } from './random.ts'

/** Which life of the gateway ends how, and what else is killed during it. */

export interface StoreKill {
  readonly target: Exclude<Target, 'gateway' | 'everything' | 'database-sessions'>
  /** After the life became ready, or after the kill before it. */
  readonly afterMs: number
}

export type LifePlan =
  | {
      readonly end: 'crash'
      readonly name: CrashPointName
      readonly hit: number
      readonly kills: readonly StoreKill[]
    }
  | {
      readonly end: 'kill'
      readonly target: 'gateway' | 'everything'
      readonly afterMs: number
      readonly kills: readonly StoreKill[]
    }

/** Where what upstream never had is given up: minutes after it was sent, longer than a life lasts. */
export const absencePoints = [
  'reconcile.before-give-up',
  'reconcile.after-give-up',
] as const satisfies readonly CrashPointName[]
/** Reached only past a task's deadline: the run's last part is there for it. */
export const DEADLINE_POINT = 'expire.before-append' satisfies CrashPointName
/** At these points, and before the first one of each kind. */
export const LAST_KILLS = absencePoints.length + 3
/** What the simulated upstream never does: show what it had not accepted. */
const UNREACHABLE_POINT: CrashPointName = 'watch.before-append'
/** Share of kills that strike a store rather than the gateway. */
const STORE_SHARE = 0.35
const CRASH_SHARE = 0.6

/** The points at which something can die. */
export function allPoints(): readonly CrashPointName[] {
  return crashPoints.filter((name) => name !== UNREACHABLE_POINT)
}

/** Those of the life of a task that upstream makes. */
export function taskPoints(): readonly CrashPointName[] {
  return allPoints().filter(
    (name) => !/^(?:asset|call|claim|file|image|upload|verification|voice)\./.test(name),
  )
}

/** One of several runs that reach the named points together. */
export interface Part {
  /** From 0. */
  readonly index: number
  readonly of: number
}

/** The whole, for a run by itself. */
export const WHOLE: Part = { index: 0, of: 1 }

/** Those that traffic leads to, or what one run of several has of them. */
export function pointsToReach(
  part: Part = WHOLE,
  among: readonly CrashPointName[] = allPoints(),
): readonly CrashPointName[] {
  const last: ReadonlySet<CrashPointName> = new Set([...absencePoints, DEADLINE_POINT])
  return among
    .filter((name) => !last.has(name))
    .filter((_name, position) => position % part.of === part.index)
}

/** Plans `kills` kills in all, but for the last ones; every one of the points comes up, as far as there are kills. */
export function planLives(
  dice: Dice,
  kills: number,
  points: readonly CrashPointName[],
): readonly LifePlan[] {
  const storeKills = Math.round(kills * STORE_SHARE)
  const lifeKills = kills - storeKills
  const named: CrashPointName[] = dice.shuffled(points)
  while (named.length < lifeKills * CRASH_SHARE) named.push(dice.pick(points))
  const ends = dice.shuffled<CrashPointName | undefined>([
    ...named.slice(0, lifeKills),
    ...Array.from({ length: Math.max(0, lifeKills - named.length) }, () => undefined),
  ])
  const share: StoreKill[][] = ends.map(() => [])
  for (let made = 0; made < storeKills; made += 1) dice.pick(share).push(storeKill(dice))
  return ends.map((name, index): LifePlan => {
    const during = share[index] ?? []
    if (name !== undefined) return { end: 'crash', name, hit: dice.integer(1, 4), kills: during }
    const target = dice.chance(0.25) ? 'everything' : 'gateway'
    return { end: 'kill', target, afterMs: dice.integer(0, 2_500), kills: during }
  })
}

/** Two stores and the gateway in short order, for when earlier plans struck less than they meant to. */
export function furtherLife(dice: Dice): LifePlan {
  const kills = [storeKill(dice), storeKill(dice)]
  return { end: 'kill', target: 'gateway', afterMs: dice.integer(0, 800), kills }
}

function storeKill(dice: Dice): StoreKill {
  const target = dice.weighted<StoreKill['target']>([
    [5, 'event-store'],
    [4, 'postgres'],
    [2, 'postgres-wrapper'],
    [2, 'projector'],
    [1, 'database-session'],
  ])
  return { target, afterMs: dice.integer(0, 900) }
}
