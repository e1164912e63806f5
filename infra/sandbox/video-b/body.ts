import { signUrl } from '../media/files.ts'
import type { Segment } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import { messageOf } from './errors.ts'
import type { VideoDetail } from './plan.ts'

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-b'

/** Where result URLs point and how long they are good. */
export interface Site {
  readonly baseUrl: string
  readonly urlSeconds: number
  /** Each query signs a URL of its own. */
  readonly nowMs: number
}

function endOf(task: StoredTask, segment: Segment, site: Site): object {
  const { record, marks } = task
  if (segment.phase === 'failed') {
    const code = record.plan.failCode ?? '1000'
    return { error: { code, message: messageOf(code) }, usage: {} }
  }
  if (segment.phase !== 'succeeded') return {}
  const usage = marks.toldAtMs === null ? record.usage : (record.usageLater ?? record.usage)
  const url = signUrl(site.baseUrl, `${MEDIA_PATH}/${record.id}.mp4`, site.nowMs, site.urlSeconds)
  return { content: { url }, ...(usage === null ? {} : { usage }) }
}

/** A task as lists hold it. */
export function taskOf(task: StoredTask, segment: Segment, site: Site): object {
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
    ...endOf(task, segment, site),
  }
}

/** The same as queries and callbacks show it. */
export function taskBody(task: StoredTask, segment: Segment, site: Site): object {
  const { tellsBaseResp } = task.record.detail as unknown as VideoDetail
  const base = tellsBaseResp ? { base_resp: { status_code: 0, status_msg: 'success' } } : {}
  return { task: taskOf(task, segment, site), ...base }
}
