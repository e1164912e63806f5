import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, wordOf } from '../faults/vocabulary.ts'
import { messageOf } from '../http/dotted-wire.ts'
import { type Random, randomInteger } from '../kit/clock.ts'
import { signUrl } from '../media/files.ts'
import type { SandboxOptions } from '../options.ts'
import { taskPlan, usagesOf, type Segment, type TaskPlan } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import { tokensOf, type VideoRequest } from './parse.ts'

/** What is written down elsewhere, or nowhere. */
type NotShown =
  | 'model'
  | 'requestedModel'
  | 'content'
  | 'safetyIdentifier'
  | 'callbackUrl'
  | 'webSearch'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail extends Omit<VideoRequest, NotShown> {
  readonly seed: number
  /** Named in the message of a failure. */
  readonly failRequestId: string
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
  const {
    model: _model,
    requestedModel: _requested,
    content: _content,
    safetyIdentifier: _safety,
    callbackUrl: _callback,
    webSearch: _search,
    ...shown
  } = request
  const chosenSeed = request.seed ?? -1
  return {
    ...shown,
    seed: chosenSeed === -1 ? randomInteger(random, 1_000_000) : chosenSeed,
    ratio: request.ratio === 'adaptive' ? '16:9' : request.ratio,
    duration: request.duration === -1 ? AUTOMATIC_SECONDS : request.duration,
    failRequestId,
  }
}

/** What a success will report, and what later queries will. */
export function usageOf(request: VideoRequest, detail: VideoDetail, faults: Faults) {
  const perReference = countOf(faults, 'reference-seconds') ?? REFERENCE_SECONDS
  const own = detail.frames === null ? detail.duration : (detail.frames - 1) / 24
  const seconds = own + perReference * request.content.referenceVideos
  const tokens = countOf(faults, 'tokens') ?? tokensOf(detail.resolution, detail.ratio, seconds)
  const searches = request.webSearch ? (countOf(faults, 'tool-searches') ?? 1) : null
  const usage = (more: number): object => ({
    completion_tokens: tokens + more,
    total_tokens: tokens + more,
    ...(searches === null ? {} : { tool_usage: { web_search: searches } }),
  })
  return usagesOf(faults, usage, USAGE_CHANGE_TOKENS)
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

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-a'

type Site = Pick<FamilyKit, 'baseUrl' | 'options'>

function content(site: Site, id: string, detail: VideoDetail, atMs: number): object {
  const url = (file: string): string => signUrl(site, `${MEDIA_PATH}/${file}`, atMs)
  const video = { video_url: url(`${id}.${detail.outputFormat ?? 'mp4'}`) }
  return detail.returnLastFrame ? { ...video, last_frame_url: url(`${id}-last.png`) } : video
}

function result({ record, marks }: StoredTask, detail: VideoDetail): object {
  const usage =
    marks.successReportedAtMs === null ? record.usage : (record.usageLater ?? record.usage)
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
