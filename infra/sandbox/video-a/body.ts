import type { FamilyKit } from '../family.ts'
import { messageOf } from '../http/dotted-wire.ts'
import { signUrl } from '../media/files.ts'
import type { Segment } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { VideoDetail } from './plan.ts'

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-a'

type Site = Pick<FamilyKit, 'baseUrl' | 'options'>

function content(site: Site, id: string, detail: VideoDetail, atMs: number): object {
  const url = (file: string): string => signUrl(site, `${MEDIA_PATH}/${file}`, atMs)
  const video = { video_url: url(`${id}.${detail.outputFormat ?? 'mp4'}`) }
  return detail.returnLastFrame ? { ...video, last_frame_url: url(`${id}-last.png`) } : video
}

function result({ record, marks }: StoredTask, detail: VideoDetail): object {
  const usage = marks.toldAtMs === null ? record.usage : (record.usageLater ?? record.usage)
  return {
    ...(usage === null ? {} : { usage }),
    seed: detail.seed,
    resolution: detail.resolution,
    ratio: detail.ratio,
    ...(detail.frames === null ? { duration: detail.duration } : { frames: detail.frames }),
    framespersecond: 24,
    ...(detail.outputFormat === null ? {} : { output_format: detail.outputFormat }),
  }
}

/** A task as queries, lists and callbacks show it in a stretch of its life. */
export function taskBody(site: Site, task: StoredTask, segment: Segment): object {
  const { record } = task
  const detail = record.detail as unknown as VideoDetail
  const succeeded = segment.phase === 'succeeded'
  const code = record.plan.failCode ?? 'InternalServiceError'
  const message = `${messageOf(code)} Request id: ${detail.failRequestId}`
  return {
    id: record.id,
    model: record.model,
    status: segment.strange ?? segment.phase,
    ...(succeeded ? { content: content(site, record.id, detail, segment.atMs) } : {}),
    ...(succeeded ? result(task, detail) : {}),
    ...(segment.phase === 'failed' ? { error: { code, message } } : {}),
    created_at: Math.floor(record.acceptedAtMs / 1000),
    updated_at: Math.floor(segment.atMs / 1000),
    generate_audio: detail.generateAudio,
    draft: detail.draft,
    service_tier: detail.serviceTier,
    execution_expires_after: detail.executionExpiresAfter,
    ...(detail.priority === null ? {} : { priority: detail.priority }),
    ...(record.safetyIdentifier === null ? {} : { safety_identifier: record.safetyIdentifier }),
  }
}
