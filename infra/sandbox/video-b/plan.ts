import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import type { SandboxOptions } from '../options.ts'
import { taskPlan } from '../tasks/plan.ts'
import type { TaskPlan } from '../tasks/record.ts'
import type { VideoRequest } from './parse.ts'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail {
  readonly duration: number
  readonly resolution: string
  /** The one that came out. */
  readonly ratio: string
  /** The answer says beside the task that the query went well. */
  readonly tellsBaseResp: boolean
}

/** The `usage` member of a success. */
export interface VideoUsage {
  readonly total_seconds?: number
  readonly input_seconds: number
  readonly output_seconds: number
  readonly input_image_count: number
  readonly input_audio_seconds: number
}

/** A reference video is taken to be this long unless a marker says otherwise, seconds. */
const REFERENCE_SECONDS = 5
/** How much more `usage-changes` reports on later queries, seconds. */
const USAGE_CHANGE_SECONDS = 1_000

export function detailOf(request: VideoRequest, id: string): VideoDetail {
  const { duration, resolution, ratio } = request
  return {
    duration,
    resolution,
    ratio: ratio === 'adaptive' ? '16:9' : ratio,
    tellsBaseResp: Number(id.at(-1)) % 2 === 0,
  }
}

/** What a success will report, and what later queries will; `tokens` is its total. */
export function usageOf(
  request: VideoRequest,
  faults: Faults,
): { readonly usage: VideoUsage | null; readonly usageLater: VideoUsage | null } {
  if (isOn(faults, 'usage-missing')) return { usage: null, usageLater: null }
  const perReference = countOf(faults, 'reference-seconds') ?? REFERENCE_SECONDS
  const inputSeconds = perReference * request.videos
  const total = countOf(faults, 'tokens') ?? inputSeconds + request.duration
  const usage = (seconds: number): VideoUsage => ({
    ...(isOn(faults, 'total-missing') ? {} : { total_seconds: seconds }),
    input_seconds: inputSeconds,
    output_seconds: request.duration,
    input_image_count: request.images,
    input_audio_seconds: 0,
  })
  const later = isOn(faults, 'usage-changes') ? usage(total + USAGE_CHANGE_SECONDS) : null
  return { usage: usage(total), usageLater: later }
}

/** Everything that will become of a task. */
export function planOf(
  { callbackUrl }: VideoRequest,
  faults: Faults,
  options: SandboxOptions,
): TaskPlan {
  return taskPlan(faults, options, { callbackUrl })
}
