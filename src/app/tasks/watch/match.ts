import type { TaskFamilyRules } from '../../../domain/catalog/task-rules.ts'
import type { TaskRequest } from '../../../domain/task/state.ts'
import { fromTimestamp } from '../../../kernel/clock.ts'
import type { Channel, TaskObservation } from '../../ports/provider.ts'

/** Finds the upstream tasks that a request of unknown outcome may have created: pure. */

/** Tolerance between upstream's clock and ours when matching times. */
const SKEW_MS = 10_000
/** Tolerance between the clocks when a list must leave nothing out: going further back only costs pages. */
const LISTING_SKEW_MS = 300_000
/** Added to the time that all tries of a creation may take. */
const SENDING_SLACK_MS = 30_000
const MOST_TRIES = 3
/** Settings that upstream may choose: its value need not be the requested one. */
const AUTOMATIC: ReadonlySet<unknown> = new Set([-1, 'adaptive', null, undefined])
/** A model id of this form is the account's own name and cannot be compared. */
const ENDPOINT_PREFIX = 'ep-'
const VERSION_SUFFIX = /^-\d{6,8}$/

export interface ListedTask {
  readonly channel: Channel
  readonly task: TaskObservation
}

/** The longest time a request may have been in flight, its last try included, in milliseconds. */
export function sendingTimeMs(channels: readonly Channel[]): number {
  const longest = Math.max(0, ...channels.map((channel) => channel.timeoutMs))
  return longest * MOST_TRIES + SENDING_SLACK_MS
}

/** Upstream cannot have created a request's task before this time. */
function earliestMs(request: TaskRequest): number {
  return fromTimestamp(request.requestedAt) - SKEW_MS
}

/** A list that reaches back to this time includes a request's task, if there is one. */
export function listFromMs(request: TaskRequest): number {
  return fromTimestamp(request.requestedAt) - LISTING_SKEW_MS
}

/** Listed tasks with a marker that only this request ever had. */
export function certainMatches(
  request: TaskRequest,
  listed: readonly ListedTask[],
): readonly ListedTask[] {
  if (!request.markerIsOurs) return []
  return listed.filter(({ task }) => task.marker === request.marker)
}

/** Listed tasks that agree with a request in everything both sides know, marker included. */
export function possibleMatches(
  request: TaskRequest,
  listed: readonly ListedTask[],
  windowMs: number,
  showsMarkers = true,
): readonly ListedTask[] {
  return listed.filter(
    ({ channel, task }) =>
      (!showsMarkers || task.marker === request.marker) &&
      sameModel(task.upstreamModel, channel.models[request.model]) &&
      inWindow(task.createdAtMs, request, windowMs) &&
      sameSettings(task.output, request.facts.settings),
  )
}

/** Whether a task without a marker may be a request's: only known differences rule it out. */
export function mayBeUnmarked(request: TaskRequest, { channel, task }: ListedTask): boolean {
  const { upstreamModel, createdAtMs } = task
  const sent = channel.models[request.model]
  return (
    (task.marker === undefined || task.marker === '') &&
    (upstreamModel === undefined || sent === undefined || sameModel(upstreamModel, sent)) &&
    (createdAtMs === undefined || createdAtMs >= listFromMs(request)) &&
    sameSettings(task.output, request.facts.settings)
  )
}

function sameModel(listed: string | undefined, sent: string | undefined): boolean {
  if (listed === undefined || sent === undefined) return false
  if (sent.startsWith(ENDPOINT_PREFIX)) return true
  // Upstream answers with the versioned name even for a plain one.
  return (
    listed === sent || (listed.startsWith(sent) && VERSION_SUFFIX.test(listed.slice(sent.length)))
  )
}

function inWindow(
  createdAtMs: number | undefined,
  request: TaskRequest,
  windowMs: number,
): boolean {
  if (createdAtMs === undefined) return false
  const latestMs = fromTimestamp(request.requestedAt) + windowMs + SKEW_MS
  return createdAtMs >= earliestMs(request) && createdAtMs <= latestMs
}

function sameSettings(
  listed: TaskObservation['output'],
  asked: TaskRequest['facts']['settings'],
): boolean {
  return Object.entries(asked).every(([name, value]) => {
    if (AUTOMATIC.has(value) || !Object.hasOwn(listed, name)) return true
    return listed[name] === value
  })
}

/**
 * From this time on, a merely likely match is not adopted. Until then every rival request is still
 * open, however short its expiry; an ended one would not be seen as a rival.
 */
export function lastLikelyMs(
  { requestedAt, expiresAt }: TaskRequest,
  { shortestExpiryS = Infinity }: Pick<TaskFamilyRules, 'shortestExpiryS'>,
  windowMs: number,
): number {
  const shortestMs = fromTimestamp(requestedAt) + shortestExpiryS * 1_000
  return Math.min(shortestMs, fromTimestamp(expiresAt)) - windowMs - 2 * SKEW_MS
}

/**
 * The one listed task that must be this request's: neither has another candidate. Undefined if
 * there is none, or any doubt.
 */
export function onlyMatch(
  request: TaskRequest,
  rivals: readonly TaskRequest[],
  listed: readonly ListedTask[],
  windowMs: number,
  showsMarkers = true,
): ListedTask | undefined {
  const candidates = possibleMatches(request, listed, windowMs, showsMarkers)
  const [candidate] = candidates
  if (candidate === undefined || candidates.length > 1) return undefined
  const contested = rivals.some(
    (rival) =>
      rival.platformId !== request.platformId &&
      possibleMatches(rival, [candidate], windowMs, showsMarkers).length > 0,
  )
  return contested ? undefined : candidate
}
