import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import { signUrl } from '../media/files.ts'
import { usagesOf } from '../tasks/plan.ts'
import type { Segment } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import { messageOf } from './wire.ts'
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

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-b'

type Site = Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>

function endOf(site: Site, { record, marks }: StoredTask, { phase }: Segment): object {
  if (phase === 'failed') {
    const code = record.plan.failCode ?? '1000'
    return { error: { code, message: messageOf(code) }, usage: {} }
  }
  if (phase !== 'succeeded') return {}
  const usage = marks.toldAtMs === null ? record.usage : (record.usageLater ?? record.usage)
  // Each query signs a URL of its own.
  const url = signUrl(site, `${MEDIA_PATH}/${record.id}.mp4`, site.clock.nowMs())
  return { content: { url }, ...(usage === null ? {} : { usage }) }
}

/** A task as lists hold it. */
export function taskOf(site: Site, task: StoredTask, segment: Segment): object {
  const { record } = task
  const { resolution, ratio, duration } = record.detail as unknown as VideoDetail
  return {
    id: record.id,
    model: record.model,
    task_type: 'generation',
    modality: 'video',
    status: segment.strange ?? segment.phase,
    created_at: Math.floor(record.acceptedAtMs / 1000),
    updated_at: Math.floor(segment.atMs / 1000),
    resolution,
    ratio,
    duration,
    ...endOf(site, task, segment),
  }
}

/** The same as queries and callbacks show it. */
export function taskBody(site: Site, task: StoredTask, segment: Segment): object {
  const { tellsBaseResp } = task.record.detail as unknown as VideoDetail
  const base = tellsBaseResp ? { base_resp: { status_code: 0, status_msg: 'success' } } : {}
  return { task: taskOf(site, task, segment), ...base }
}
