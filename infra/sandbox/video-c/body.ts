import type { FamilyKit } from '../family.ts'
import { countOf, type Faults } from '../faults/vocabulary.ts'
import { type Random, randomInteger } from '../kit/clock.ts'
import { signUrl } from '../media/files.ts'
import type { SandboxOptions } from '../options.ts'
import {
  taskPlan,
  usagesOf,
  type Segment,
  type TaskPlan,
  type TaskRecord,
} from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { VideoRequest } from './parse.ts'

/** What a rendered answer needs besides the record's common members. */
export interface VideoDetail extends Omit<VideoRequest, 'prompt' | 'callbackUrl' | 'seed'> {
  readonly seed: number
  readonly creationId: string
  /** What it takes; known when it is accepted. */
  readonly credits: number
}

/** The `usage` of this wire: a task that did not succeed took none. */
interface VideoUsage {
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

/** Path under which result files are served. */
export const MEDIA_PATH = '/media/video-c'
/** How long a task is `created` before it is in the queue. */
const CREATED_MS = 100

type Site = Pick<FamilyKit, 'baseUrl' | 'options' | 'clock'>

const words = {
  queued: 'queueing',
  running: 'processing',
  succeeded: 'success',
  failed: 'failed',
  expired: 'failed',
  cancelled: 'failed',
} as const

/** The word for where a task stands. */
export function stateOf({ record }: StoredTask, segment: Segment, nowMs: number): string {
  const isNew = segment.phase === 'queued' && nowMs - record.acceptedAtMs < CREATED_MS
  return segment.strange ?? (isNew ? 'created' : words[segment.phase])
}

function errorOf(task: StoredTask, { phase }: Segment): string {
  if (phase === 'cancelled') return 'UserCancelled'
  if (phase === 'expired') return 'Canceled'
  return phase === 'failed' ? (task.record.plan.failCode ?? 'InternalServiceFailure') : ''
}

function creationsOf(site: Site, { record }: StoredTask, segment: Segment): readonly object[] {
  if (segment.phase !== 'succeeded') return []
  const detail = record.detail as unknown as VideoDetail
  const url = (file: string): string => signUrl(site, `${MEDIA_PATH}/${file}`, segment.atMs)
  const video = { id: detail.creationId, url: url(`${record.id}.mp4`) }
  const shown = { ...video, cover_url: url(`${record.id}-cover.png`) }
  return [detail.watermark ? { ...shown, watermarked_url: url(`${record.id}-mark.mp4`) } : shown]
}

/** Known from the start; what failed or was cancelled gets its own back. */
function creditsNow({ record, marks }: StoredTask, { phase }: Segment): object {
  if (phase === 'failed' || phase === 'cancelled' || phase === 'expired') return { credits: 0 }
  const later = marks.successReportedAtMs === null ? null : record.usageLater
  return later ?? record.usage ?? {}
}

/** A task as queries, lists and callbacks show it in a stretch of its life. */
export function taskBody(site: Site, task: StoredTask, segment: Segment): object {
  const detail = task.record.detail as unknown as VideoDetail
  return {
    id: task.record.id,
    state: stateOf(task, segment, site.clock.nowMs()),
    err_code: errorOf(task, segment),
    ...creditsNow(task, segment),
    payload: detail.payload,
    bgm: detail.bgm,
    off_peak: detail.offPeak,
    creations: creationsOf(site, task, segment),
  }
}

/** What a creation is answered with, and lists say besides. */
export function settingsBody(record: TaskRecord): object {
  const detail = record.detail as unknown as VideoDetail
  return {
    model: record.model,
    duration: detail.duration,
    resolution: detail.resolution,
    aspect_ratio: detail.aspectRatio,
    movement_amplitude: detail.movementAmplitude,
    seed: detail.seed,
    watermark: detail.watermark,
    created_at: new Date(record.acceptedAtMs).toISOString(),
  }
}
