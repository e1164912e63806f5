import { countOf, type Faults } from '../faults/vocabulary.ts'
import { type Random, randomInteger } from '../kit/random.ts'
import type { SandboxOptions } from '../options.ts'
import { taskPlan, usagesOf } from '../tasks/plan.ts'
import type { TaskPlan } from '../tasks/record.ts'
import type { VideoRequest } from './parse.ts'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail extends Omit<VideoRequest, 'prompt' | 'callbackUrl' | 'seed'> {
  readonly seed: number
  readonly creationId: string
  /** What it takes; known when it is accepted. */
  readonly credits: number
}

/** The `usage` of this wire: a task that did not succeed took none. */
export interface VideoUsage {
  readonly credits: number
}

const CREDITS_A_SECOND: Readonly<Record<string, number>> = { '540p': 10, '720p': 20, '1080p': 40 }
/** How much more `usage-changes` reports on later queries. */
const USAGE_CHANGE_CREDITS = 10
/** What waits for a quiet hour and finds none is given up. */
const OFF_PEAK_EXPIRY_MS = 48 * 3_600_000
const OFF_PEAK_QUEUE_FACTOR = 3

function creditsOf({ resolution, duration, offPeak }: VideoRequest): number {
  const credits = (CREDITS_A_SECOND[resolution] ?? 20) * duration
  return offPeak ? Math.ceil(credits / 2) : credits
}

export function detailOf(
  request: VideoRequest,
  faults: Faults,
  random: Random,
  creationId: string,
): VideoDetail {
  const { prompt: _prompt, callbackUrl: _callbackUrl, ...shown } = request
  return {
    ...shown,
    seed: request.seed || randomInteger(random, 1_000_000),
    creationId,
    credits: countOf(faults, 'tokens') ?? creditsOf(request),
  }
}

export function usageOf({ credits }: VideoDetail, faults: Faults) {
  const usage = (more: number): VideoUsage => ({ credits: credits + more })
  return usagesOf(faults, usage, USAGE_CHANGE_CREDITS)
}

/** Everything that will become of a task. */
export function planOf(
  { callbackUrl, offPeak }: VideoRequest,
  faults: Faults,
  options: SandboxOptions,
): TaskPlan {
  const waiting = { queueFactor: OFF_PEAK_QUEUE_FACTOR, expiresAfterMs: OFF_PEAK_EXPIRY_MS }
  return taskPlan(faults, options, { callbackUrl, ...(offPeak ? waiting : {}) })
}
