import type { FamilyKit } from '../family.ts'
import { signUrl } from '../media/files.ts'
import type { Segment } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import { messageOf } from './errors.ts'
import type { VideoDetail } from './plan.ts'

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
