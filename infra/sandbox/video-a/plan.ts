import { countOf, type Faults, isOn, wordOf } from '../faults/vocabulary.ts'
import { type Random, randomInteger } from '../kit/random.ts'
import type { SandboxOptions } from '../options.ts'
import { taskPlan } from '../tasks/plan.ts'
import type { TaskPlan } from '../tasks/record.ts'
import type { VideoRequest } from './parse.ts'
import { tokensOf } from './tokens.ts'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail {
  readonly seed: number
  readonly resolution: string
  readonly ratio: string
  readonly duration: number
  readonly frames: number | null
  readonly generateAudio: boolean
  readonly draft: boolean
  readonly returnLastFrame: boolean
  readonly outputFormat: string | null
  readonly serviceTier: string
  readonly executionExpiresAfter: number
  readonly priority: number | null
  /** Named in the message of a failure. */
  readonly failRequestId: string
}

/** The `usage` member on this wire. */
export interface VideoUsage {
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly tool_usage?: { readonly web_search: number }
}

/** Length chosen when the caller leaves it to the model, seconds. */
const AUTOMATIC_SECONDS = 5
/** A reference video is taken to be this long unless a marker says otherwise, seconds. */
const REFERENCE_SECONDS = 5
/** How much more `usage-changes` reports on later queries, tokens. */
const USAGE_CHANGE_TOKENS = 1000

/** The picture that comes out: what was left open is decided here. */
export function detailOf(
  request: VideoRequest,
  random: Random,
  failRequestId: string,
): VideoDetail {
  const chosenSeed = request.seed ?? -1
  return {
    seed: chosenSeed === -1 ? randomInteger(random, 1_000_000) : chosenSeed,
    resolution: request.resolution,
    ratio: request.ratio === 'adaptive' ? '16:9' : request.ratio,
    duration: request.duration === -1 ? AUTOMATIC_SECONDS : request.duration,
    frames: request.frames,
    generateAudio: request.generateAudio,
    draft: request.draft,
    returnLastFrame: request.returnLastFrame,
    outputFormat: request.outputFormat,
    serviceTier: request.serviceTier,
    executionExpiresAfter: request.executionExpiresAfter,
    priority: request.priority,
    failRequestId,
  }
}

/** What a success will report, and what later queries will. */
export function usageOf(
  request: VideoRequest,
  detail: VideoDetail,
  faults: Faults,
): { readonly usage: VideoUsage | null; readonly usageLater: VideoUsage | null } {
  if (isOn(faults, 'usage-missing')) return { usage: null, usageLater: null }
  const perReference = countOf(faults, 'reference-seconds') ?? REFERENCE_SECONDS
  const own = detail.frames === null ? detail.duration : (detail.frames - 1) / 24
  const seconds = own + perReference * request.content.referenceVideos
  const tokens = countOf(faults, 'tokens') ?? tokensOf(detail.resolution, detail.ratio, seconds)
  const searches = request.webSearch ? (countOf(faults, 'tool-searches') ?? 1) : null
  const usage = (count: number): VideoUsage => ({
    completion_tokens: count,
    total_tokens: count,
    ...(searches === null ? {} : { tool_usage: { web_search: searches } }),
  })
  const later = isOn(faults, 'usage-changes') ? usage(tokens + USAGE_CHANGE_TOKENS) : null
  return { usage: usage(tokens), usageLater: later }
}

/** Why an accepted task will fail, or null. An edit must leave length and ratio to the model. */
function failCodeOf(request: VideoRequest, faults: Faults): string | null {
  const asked = wordOf(faults, 'fail')
  if (asked !== null) return asked
  const edit = wordOf(faults, 'task-type') === 'edit'
  const fits = request.duration === -1 && request.ratio === 'adaptive'
  return edit && !fits ? 'InvalidParameter.TaskTypeConstraint' : null
}

/** Everything that will become of a task. */
export function planOf(request: VideoRequest, faults: Faults, options: SandboxOptions): TaskPlan {
  return taskPlan(faults, options, {
    callbackUrl: request.callbackUrl,
    failCode: failCodeOf(request, faults),
    expiresAfterMs: request.executionExpiresAfter * 1_000,
  })
}
