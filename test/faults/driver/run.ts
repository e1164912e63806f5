import type { CrashPointName } from '../../../src/app/crash-points.ts'
import { startAssetTraffic } from './assets/traffic.ts'
import type { Product } from '../../helpers/product.ts'
import { LEASES_MS, Lives } from './lives.ts'
import { LAST_KILLS, type Part, planLives, pointsToReach, WHOLE } from './plan.ts'
import { dice } from './random.ts'
import { figuresOf } from './figures.ts'
import { startImageTraffic } from './images/traffic.ts'
import { startSpeechTraffic } from './speech/traffic.ts'
import { startTraffic } from './traffic.ts'
import { Trial } from './trial.ts'
import type { Difference } from './witness.ts'

/** A whole run: traffic and kills, then peace, then the comparison of what upstream did with what we say. */

/** Past the family's longest deadline, whatever a task was created with. */
const PAST_DEADLINES_MS = 80 * 3_600_000

export interface RunOptions {
  readonly build: Product
  /** An empty directory below one that other accounts may pass through. */
  readonly directory: string
  readonly kills: number
  readonly seed: string
  /** Which of several runs this is, that reach the named points together. */
  readonly part?: Part
  /** The named points that those runs reach together; all of them unless said otherwise. */
  readonly among?: readonly CrashPointName[]
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
}

export async function runFaults(options: RunOptions): Promise<Report> {
  const { say, part = WHOLE } = options
  const points = pointsToReach(part, options.among)
  const startedMs = performance.now()
  const chance = dice(part.of === 1 ? options.seed : `${options.seed}/${part.index}`)
  const trial = await Trial.open({ ...options, seed: chance.integer(1, 1_000_000) })
  try {
    const { machine, sandbox, witness } = trial
    const lives = new Lives({ machine, sandbox, dice: chance.fork('lives'), points, say })
    const callers = {
      caller: () => trial.caller(),
      tenants: trial.tenants,
      witness,
      focus: () => lives.focus,
    }
    const traffic = [
      startTraffic(chance.fork('traffic'), callers),
      startAssetTraffic(chance.fork('assets'), callers),
      startSpeechTraffic(chance.fork('speech'), callers),
      await startImageTraffic(chance.fork('images'), callers),
    ]
    try {
      // The last ones strike after the traffic, where something is given up or expires.
      const kills = options.kills - LAST_KILLS
      await lives.run(planLives(chance.fork('plan'), kills, points), kills)
    } finally {
      await Promise.all(traffic.map((one) => one.stop()))
    }
    await lives.peace(LEASES_MS)
    await trial.loseSome()
    await trial.settle()
    await lives.lastAbsence(2 * LEASES_MS)
    await trial.settle('past-every-absence')
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
      seconds: Math.round((performance.now() - startedMs) / 1_000),
    }
  } finally {
    await trial.close()
  }
}
