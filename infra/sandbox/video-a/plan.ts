import { countOf, wordOf, type Faults } from '../faults/vocabulary.ts'
import { randomInteger, type Random } from '../kit/random.ts'
import type { SandboxOptions } from '../options.ts'
import { taskPlan, usagesOf } from '../tasks/plan.ts'
import type { TaskPlan } from '../tasks/record.ts'
import type { VideoRequest } from './parse.ts'
import { tokensOf } from './tokens.ts'

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
