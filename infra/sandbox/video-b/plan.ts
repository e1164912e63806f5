import { countOf, isOn, type Faults } from '../faults/vocabulary.ts'
import { usagesOf } from '../tasks/plan.ts'
import type { VideoRequest } from './parse.ts'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail extends Pick<VideoRequest, 'duration' | 'resolution'> {
  /** The one that came out. */
  readonly ratio: string
  /** The answer says beside the task that the query went well. */
  readonly tellsBaseResp: boolean
}

/** A reference video is taken to be this long unless a marker says otherwise, seconds. */
const REFERENCE_SECONDS = 5
/** How much more `usage-changes` reports on later queries, seconds. */
const USAGE_CHANGE_SECONDS = 1_000

export function detailOf({ duration, resolution, ratio }: VideoRequest, id: string): VideoDetail {
  return {
    duration,
    resolution,
    ratio: ratio === 'adaptive' ? '16:9' : ratio,
    tellsBaseResp: Number(id.at(-1)) % 2 === 0,
  }
}

/** What a success will report, and what later queries will; `tokens` is its total. */
export function usageOf({ videos, images, duration }: VideoRequest, faults: Faults) {
  const perReference = countOf(faults, 'reference-seconds') ?? REFERENCE_SECONDS
  const inputSeconds = perReference * videos
  const total = countOf(faults, 'tokens') ?? inputSeconds + duration
  const usage = (more: number): object => ({
    ...(isOn(faults, 'total-missing') ? {} : { total_seconds: total + more }),
    input_seconds: inputSeconds,
    output_seconds: duration,
    input_image_count: images,
    input_audio_seconds: 0,
  })
  return usagesOf(faults, usage, USAGE_CHANGE_SECONDS)
}
