import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { startAssetTraffic } from './assets/traffic.ts'
import type { Product } from '../../helpers/product.ts'
import { LAST_KILLS, LEASES_MS, Lives, planLives, pointsToReach } from './lives.ts'
import { ClusterStores } from './cluster-stores.ts'
import { type Dice, dice } from './random.ts'
import { figuresOf } from './figures.ts'
import { startImageTraffic } from './images/traffic.ts'
import { startSpeechTraffic } from './speech/traffic.ts'
import { startTraffic } from './traffic.ts'
import { Trial } from './trial.ts'
import type { Difference } from './witness.ts'

/** A whole run: traffic and kills, then peace, then the comparison of what upstream did with what we say. */

const MOST_HITS = 4
/** Past the family's longest deadline, whatever a task was created with. */
const PAST_DEADLINES_MS = 80 * 3_600_000

interface RunOptions {
  readonly build: Product
  /** An empty directory below one that other accounts may pass through. */
  readonly directory: string
  readonly kills: number
  readonly seed: string
  /** The named points that it reaches; all of them unless said otherwise. */
  readonly among?: readonly CrashPointName[]
  /** A gateway dies at one of so many first times that it comes to a named point; 4 unless said otherwise. */
  readonly mostHits?: number
  /** Whether the log is a pretended cluster whose leader changes all the time. */
  readonly cluster?: boolean
  readonly say: (line: string) => void
}

export interface Report {
  /** Kills that struck, by target or named point. */
  readonly kills: Readonly<Record<string, number>>
  readonly killsInAll: number
  /** Named points at which a gateway died. */
  readonly reached: readonly string[]
  readonly answers: Readonly<Record<string, number>>
  readonly figures: Readonly<Record<string, number>>
  readonly differences: readonly Difference[]
  readonly seconds: number
  /** What was done to the cluster, by kind; empty without one. */
  readonly clusterChanges: Readonly<Record<string, number>>
}

export async function runFaults(options: RunOptions): Promise<Report> {
  const startedMs = performance.now()
  const chance = dice(options.seed)
  const seed = chance.integer(1, 1_000_000)
  const cluster =
    options.cluster === true
      ? await ClusterStores.open(options.directory, chance.fork('cluster'))
      : undefined
  try {
    return await runOn(options, { chance, seed, cluster, startedMs })
  } finally {
    await cluster?.close()
  }
}

async function runOn(
  options: RunOptions,
  given: {
    readonly chance: Dice
    readonly seed: number
    readonly cluster: ClusterStores | undefined
    readonly startedMs: number
  },
): Promise<Report> {
  const { say } = options
  const { chance, seed, cluster, startedMs } = given
  const points = pointsToReach(options.among)
  const trial = await Trial.open({ ...options, seed, stores: cluster, settableClock: true })
  try {
    const { machine, sandbox, witness } = trial
    const lives = new Lives({ machine, sandbox, dice: chance.fork('lives'), points, say })
    const callers = {
      caller: () => trial.caller(),
      tenants: trial.tenants,
      witness,
      focus: () => lives.focus,
    }
    await trial.makeSome()
    const traffic = [
      startTraffic(chance.fork('traffic'), callers),
      startAssetTraffic(chance.fork('assets'), callers),
      startSpeechTraffic(chance.fork('speech'), callers),
      await startImageTraffic(chance.fork('images'), callers),
    ]
    const changes = cluster?.disturb()
    try {
      // The last ones strike after the traffic, where something is given up or expires.
      const kills = options.kills - LAST_KILLS
      await lives.run(
        planLives(chance.fork('plan'), kills, points, options.mostHits ?? MOST_HITS),
        kills,
      )
    } finally {
      await changes?.stop()
      await Promise.all(traffic.map((one) => one.stop()))
    }
    await lives.peace(LEASES_MS)
    await trial.loseSome()
    await trial.settle()
    await lives.lastAbsence(2 * LEASES_MS)
    // What upstream never had is given up after two looks a minute apart: the clock passes that minute.
    await lives.withFastClock(() => trial.settle('past-every-absence'))
    await lives.lastDeadline(PAST_DEADLINES_MS)
    const findings = await trial.settle('past-every-deadline')
    await trial.conclude(findings)
    return {
      kills: Object.fromEntries(lives.kills),
      killsInAll: lives.struck,
      reached: [...lives.reached].sort(),
      answers: Object.fromEntries([...witness.answers].sort(([a], [b]) => a.localeCompare(b))),
      figures: figuresOf(findings),
      differences: [...witness.differences, ...lives.differences, ...trial.differences],
      clusterChanges: Object.fromEntries(cluster?.changes ?? []),
      seconds: Math.round((performance.now() - startedMs) / 1_000),
    }
  } finally {
    await trial.close()
  }
}
