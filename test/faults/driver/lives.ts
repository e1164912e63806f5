import { setTimeout as sleep } from 'node:timers/promises'
import { type CrashPointName, crashPoints } from '../../../src/app/crash-points.ts'
import type { Machine } from './machine.ts'
import type { Target } from './processes.ts'
import type { Dice } from './random.ts'
import type { FaultRule, Sandbox } from './sandbox.ts'
import type { Difference } from './witness.ts'

/** Which life of the gateway ends how, and what else is killed during it. */

interface StoreKill {
  readonly target: Exclude<Target, 'gateway' | 'everything' | 'database-sessions'>
  /** After the life became ready, or after the kill before it. */
  readonly afterMs: number
}

type LifePlan =
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
const absencePoints = [
  'reconcile.before-give-up',
  'reconcile.after-give-up',
] as const satisfies readonly CrashPointName[]
/** Reached only past a task's deadline: the run's last part is there for it. */
const DEADLINE_POINT = 'expire.before-append' satisfies CrashPointName
/** At these points, and before the first one of each kind. */
export const LAST_KILLS = absencePoints.length + 3
/** What the simulated upstream never does: show what it had not accepted. */
const UNREACHABLE_POINT: CrashPointName = 'watch.before-append'
/** Share of kills that strike a store rather than the gateway. */
const STORE_SHARE = 0.35
const CRASH_SHARE = 0.6

/** The points at which something can die; support and finance, which no traffic has, reach those of notes and statements. */
function allPoints(): readonly CrashPointName[] {
  return crashPoints.filter(
    (name) => name !== UNREACHABLE_POINT && !/^(?:close|note|void)\./.test(name),
  )
}

/** Those of the life of a task that upstream makes. */
export function taskPoints(): readonly CrashPointName[] {
  return allPoints().filter(
    (name) => !/^(?:asset|call|claim|file|image|upload|verification|voice)\./.test(name),
  )
}

/** Those that traffic leads to. */
export function pointsToReach(
  among: readonly CrashPointName[] = allPoints(),
): readonly CrashPointName[] {
  const last: ReadonlySet<CrashPointName> = new Set([...absencePoints, DEADLINE_POINT])
  return among.filter((name) => !last.has(name))
}

/**
 * Plans `kills` kills in all, but for the last ones; every one of the points comes up, as far as there are kills. A
 * process dies when it comes to its point for the first time, or one of the first `mostHits` times.
 */
export function planLives(
  dice: Dice,
  kills: number,
  points: readonly CrashPointName[],
  mostHits: number,
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
    if (name !== undefined)
      return { end: 'crash', name, hit: dice.integer(1, mostHits), kills: during }
    const target = dice.chance(0.25) ? 'everything' : 'gateway'
    return { end: 'kill', target, afterMs: dice.integer(0, 2_500), kills: during }
  })
}

/** Two stores and the gateway in short order, for when earlier plans struck less than they meant to. */
function furtherLife(dice: Dice): LifePlan {
  const kills = [storeKill(dice), storeKill(dice)]
  return { end: 'kill', target: 'gateway', afterMs: dice.integer(0, 800), kills }
}

function storeKill(dice: Dice): StoreKill {
  const target = dice.weighted<StoreKill['target']>([
    [5, 'event-store'],
    [6, 'postgres'],
    [2, 'projector'],
    [1, 'database-session'],
  ])
  return { target, afterMs: dice.integer(0, 900) }
}

/** Leads the gateway through its lives; each ends in a kill. */

/** A named point that is not met in this time is tried again at the end, with more patience. */
const POINT_TIMEOUT_MS = 8_000
const LAST_POINT_TIMEOUT_MS = 30_000
const ABSENCE_TIMEOUT_MS = 120_000
/**
 * An absence is proven by two looks a minute apart: meanwhile the gateway's clock goes ahead by this much, which it follows
 * at twice the speed without falling so far behind that it ends …
 */
const ABSENCE_STEP_MS = 6_000
/** … each time that this long has passed, which is enough for a look. */
const ABSENCE_LOOK_MS = 2_000
/** Longer than any lease of the policies. */
export const LEASES_MS = 600_000
/** A second try of a point, so that meeting none is a finding and not bad luck. */
const SECOND_TRIES = 2

interface LivesOptions {
  readonly machine: Machine
  readonly sandbox: Sandbox
  readonly dice: Dice
  /** The named points this run must reach before its last ones. */
  readonly points: readonly CrashPointName[]
  readonly say: (line: string) => void
}

export class Lives {
  /** Kills that struck, by target or point. */
  readonly kills = new Map<string, number>()
  readonly reached = new Set<string>()
  readonly differences: Difference[] = []
  readonly #options: LivesOptions
  #focus: string | undefined
  /** How often the gateway's clock was set forward. */
  #clockSteps = 0

  constructor(options: LivesOptions) {
    this.#options = options
  }

  /** The crash point the present life waits for. */
  get focus(): string | undefined {
    return this.#focus
  }

  /** How many kills struck. */
  get struck(): number {
    return [...this.kills.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Leads through the plans, then on until so many kills struck. The first life must be running. */
  async run(plans: readonly LifePlan[], kills: number): Promise<void> {
    const { points, say } = this.#options
    // What runs has no crash point set: its end comes first.
    await this.#lead({ end: 'kill', target: 'gateway', afterMs: 1_500, kills: [] })
    for (const plan of plans) {
      const what = plan.end === 'crash' ? `at ${plan.name}:${plan.hit}` : plan.target
      const stores = plan.kills.map(({ target }) => target).join(', ')
      say(`${this.struck} of ${kills} kills; next ${what}${stores && `, before it ${stores}`}`)
      await this.#live(plan)
    }
    for (let tries = 0; tries < SECOND_TRIES; tries += 1)
      for (const name of points)
        if (!this.reached.has(name)) {
          say(`again: ${name}`)
          await this.#live({ end: 'crash', name, hit: 1, kills: [] }, LAST_POINT_TIMEOUT_MS)
        }
    while (this.struck < kills) await this.#live(furtherLife(this.#options.dice))
    for (const name of points)
      if (!this.reached.has(name))
        this.differences.push({ code: 'point_unmet', subject: name, message: 'was never reached' })
    this.#focus = undefined
  }

  /** A life without faults. Its clock goes ahead: what waits out a dead one's lease waits no longer. */
  async peace(clockAheadMs: number): Promise<void> {
    const { machine, sandbox } = this.#options
    await sandbox.clearFaults()
    await this.#start(machine, { clockAheadMs })
  }

  /**
   * Kills on both sides of giving up what upstream never had, then lets the rest be given up. Every
   * life is later than the one before: what that one saw missing is due to be given up.
   */
  async lastAbsence(clockAheadMs: number): Promise<void> {
    await this.#killBetween()
    let aheadMs = clockAheadMs
    await this.withFastClock(async () => {
      for (const name of absencePoints) {
        await this.#lastKill(name, aheadMs, ABSENCE_TIMEOUT_MS)
        aheadMs += LEASES_MS
      }
    })
    await this.peace(aheadMs)
  }

  /** Sets the gateway's clock forward again and again meanwhile. It is never set back. */
  async withFastClock<Result>(meanwhile: () => Promise<Result>): Promise<Result> {
    const { machine } = this.#options
    const stopping = new AbortController()
    const work = (async () => {
      while (!stopping.signal.aborted) {
        await sleep(ABSENCE_LOOK_MS)
        this.#clockSteps += 1
        await machine.setClock(this.#clockSteps * ABSENCE_STEP_MS)
      }
    })()
    try {
      return await meanwhile()
    } finally {
      stopping.abort()
      await work
    }
  }

  /** Kills at the expiry of what never found its end, then lets it expire. */
  async lastDeadline(clockAheadMs: number): Promise<void> {
    await this.#killBetween()
    await this.#lastKill(DEADLINE_POINT, clockAheadMs, LAST_POINT_TIMEOUT_MS)
    await this.peace(clockAheadMs + LEASES_MS)
  }

  async #killBetween(): Promise<void> {
    const { machine } = this.#options
    machine.kill('gateway')
    await machine.ended
    this.#count('gateway')
  }

  /** A life that must end at this point: there is something open for it. */
  async #lastKill(name: CrashPointName, clockAheadMs: number, timeoutMs: number): Promise<void> {
    const { machine } = this.#options
    await this.#start(machine, { crashAt: `${name}:1`, clockAheadMs })
    if (await this.#endsWithin(timeoutMs)) {
      this.reached.add(name)
      this.#count(name)
      return
    }
    this.differences.push({ code: 'point_unmet', subject: name, message: 'was never reached' })
    machine.kill('gateway')
    await machine.ended
  }

  async #live(plan: LifePlan, patienceMs = POINT_TIMEOUT_MS): Promise<void> {
    const { machine, sandbox, dice } = this.#options
    await sandbox.clearFaults()
    for (const rule of faultRules(dice)) await sandbox.addFault(rule)
    const crashAt = plan.end === 'crash' ? `${plan.name}:${plan.hit}` : undefined
    this.#focus = plan.end === 'crash' ? plan.name : undefined
    const started = await this.#start(machine, { crashAt })
    if (started === 'ended' && plan.end === 'crash') {
      this.reached.add(plan.name)
      this.#count(plan.name)
      return
    }
    await this.#lead(plan, patienceMs)
  }

  async #lead(plan: LifePlan, patienceMs = POINT_TIMEOUT_MS): Promise<void> {
    const { machine } = this.#options
    const stores = this.#killStores(plan.kills)
    if (plan.end === 'crash') {
      const met = await this.#endsWithin(patienceMs)
      if (met) {
        this.reached.add(plan.name)
        this.#count(plan.name)
      } else {
        machine.kill('gateway')
        await machine.ended
        this.#count('gateway')
      }
      await stores
      return
    }
    await stores
    await sleep(plan.afterMs)
    machine.kill(plan.target)
    await machine.ended
    this.#count(plan.target)
  }

  async #killStores(kills: readonly StoreKill[]): Promise<void> {
    const { machine } = this.#options
    for (const { target, afterMs } of kills) {
      await sleep(afterMs)
      if (machine.address === undefined) return
      if (machine.kill(target).length > 0) this.#count(target)
    }
  }

  /** Whether the life ends by itself; any way but the crash point's is a finding. */
  async #endsWithin(timeoutMs: number): Promise<boolean> {
    const { machine } = this.#options
    const how = await Promise.race([machine.ended, sleep(timeoutMs, undefined, { ref: false })])
    if (how === undefined) return false
    if (how !== 'ended by SIGKILL')
      this.differences.push({ code: 'gave_up', subject: how, message: machine.tail() })
    return true
  }

  async #start(
    machine: Machine,
    options: { readonly crashAt?: string | undefined; readonly clockAheadMs?: number },
  ): Promise<'ready' | 'ended'> {
    const startedMs = performance.now()
    const started = await machine.start(options)
    const tookMs = Math.round(performance.now() - startedMs)
    if (started === 'ready') this.#options.say(`  ready after ${tookMs} ms`)
    else if ((await machine.ended) !== 'ended by SIGKILL') {
      const message = `${await machine.ended}:\n${machine.tail()}`
      this.differences.push({ code: 'start_failed', subject: options.crashAt ?? '', message })
      throw new Error(`the gateway does not start again:\n${message}`)
    }
    return started
  }

  #count(target: string): void {
    this.kills.set(target, (this.kills.get(target) ?? 0) + 1)
  }
}

/** Faults of the queries of a life: an upstream that is never quite well. */
function faultRules(dice: Dice): readonly FaultRule[] {
  const rule = (faults: readonly string[], rate: number, op = queries): FaultRule => ({
    faults,
    rate,
    seed: dice.integer(1, 1_000_000),
    match: { op },
  })
  return [...queryRules(dice, rule), ...groupRules(dice, rule)]
}

/** Deletions too: what can be asked again. */
const queries: readonly string[] = [
  'get',
  'list',
  'delete',
  'cancel',
  'list-groups',
  'delete-group',
  'verify-result',
]

type Rule = (faults: readonly string[], rate: number, op?: readonly string[]) => FaultRule

/** Groups of assets have no address of their caller's, which could say what becomes of them. */
function groupRules(dice: Dice, rule: Rule): readonly FaultRule[] {
  const op = ['create-group']
  return dice.weighted<readonly FaultRule[]>([
    [4, []],
    [2, [rule(['drop-after-accept'], 0.3, op)]],
    [1, [rule(['drop-before-accept'], 0.3, op)]],
    [1, [rule(['http-after-accept=500'], 0.3, op)]],
    [1, [rule(['http=503'], 0.3, op)]],
    [1, [rule(['malformed'], 0.3, op)]],
  ])
}

function queryRules(dice: Dice, rule: Rule): readonly FaultRule[] {
  return dice.weighted<readonly FaultRule[]>([
    [4, []],
    [2, [rule(['http=500'], 0.15)]],
    [1, [rule(['drop-before-accept'], 0.15)]],
    [1, [rule(['drop-after-accept'], 0.2)]],
    [1, [rule(['malformed'], 0.15)]],
    [1, [rule(['garbage'], 0.1), rule(['http=429'], 0.1)]],
    [1, [rule(['hang'], 0.05)]],
    [1, [rule(['first-byte-ms=400'], 0.3)]],
  ])
}
