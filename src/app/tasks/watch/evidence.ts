import { waitForPosition } from '../../../../projections/engine/wait.ts'
import { findKnownNativeIds } from '../../../../projections/tasks/query.ts'
import type { TaskRequest } from '../../../domain/task/state.ts'
import type { Channel, TaskObservation } from '../../ports/provider.ts'
import { loadTask } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'
import { providerOf } from '../submit.ts'
import type { DuePoll } from './task-work.ts'
import { type Listing, listSince } from './listing.ts'
import { listFromMs, mayBeUnmarked } from './match.ts'

/** The evidence of a reconciliation round: the requests in the log, and upstream's lists. */

/** A listed task counts as unknown only after the read model has every task of ours. */
const CATCH_UP_MS = 10_000

/** A request that the reconciler looks for, and the channels it may have used. */
export interface SoughtRequest {
  readonly request: TaskRequest
  readonly channels: readonly Channel[]
}

/** A request without a known outcome. */
export interface OpenRequest extends SoughtRequest {
  readonly phase: 'requested' | 'uncertain'
}

/** A due request; `settled` when the log has its outcome. @throws the log's codes */
export async function loadOpen(deps: TaskDeps, poll: DuePoll): Promise<OpenRequest | 'settled'> {
  const state = await loadTask(deps.log, poll.platformId)
  if (state.phase !== 'requested' && state.phase !== 'uncertain') return 'settled'
  const { request, phase } = state
  return { request, phase, channels: channelsOf(deps, request) }
}

/** The configured channels that a request may have used. */
export function channelsOf(deps: Pick<TaskDeps, 'channels'>, request: TaskRequest) {
  const { family, region, model, channelId, channelIds = [] } = request
  const sentBy = [channelId, ...channelIds].flatMap((id) => deps.channels.byId(id) ?? [])
  const ofModel = { family, model, ...(region === undefined ? {} : { region }) }
  return [...new Set([...deps.channels.serving(ofModel), ...sentBy])]
}

/**
 * Lists each channel once for all requests, back to the oldest of them; every request checks by
 * itself whether that covers its own start. Never throws.
 */
export async function listAll(
  deps: TaskDeps,
  all: readonly SoughtRequest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Listing>> {
  const byChannel = new Map<
    string,
    { readonly channel: Channel; readonly requests: TaskRequest[] }
  >()
  for (const { request, channels } of all) {
    for (const channel of channels) {
      const known = byChannel.get(channel.id)
      if (known === undefined) byChannel.set(channel.id, { channel, requests: [request] })
      else known.requests.push(request)
    }
  }
  const listings = await Promise.all(
    [...byChannel.values()].map(async ({ channel, requests }): Promise<[string, Listing]> => {
      const provider = providerOf(deps, channel.family)
      const sinceMs = Math.min(...requests.map(listFromMs))
      const range = { channel, sinceMs, wanted: soughtBy(requests, channel) }
      return [channel.id, await listSince(deps, provider, range, signal)]
    }),
  )
  return new Map(listings)
}

/** Whether a listed task may belong to one of these requests. */
function soughtBy(requests: readonly TaskRequest[], channel: Channel) {
  const markers = new Set(requests.map(({ marker }) => marker))
  return (task: TaskObservation): boolean =>
    (task.marker !== undefined && markers.has(task.marker)) ||
    requests.some((request) => mayBeUnmarked(request, { channel, task }))
}

/** Native ids of known tasks, by family, each with its marker. */
export type KnownNativeIds = ReadonlyMap<string, ReadonlyMap<string, string>>

/**
 * Finds the listed tasks that are already recorded. Read after the listing and after the read model
 * passed the log's end, because every listed task of ours had its intent recorded before (P1).
 * Undefined when the read model stays behind; then nothing is adopted.
 */
export async function knownOf(
  deps: TaskDeps,
  listings: ReadonlyMap<string, Listing>,
): Promise<KnownNativeIds | undefined> {
  const shown = new Map<string, Set<string>>()
  let anyFound = false
  for (const [channelId, { tasks, newest }] of listings) {
    const family = deps.channels.byId(channelId)?.family ?? ''
    const ids = shown.get(family) ?? new Set()
    shown.set(family, ids)
    for (const { task } of tasks) ids.add(task.nativeId)
    for (const { nativeId } of newest) ids.add(nativeId)
    anyFound ||= tasks.length > 0
  }
  if (anyFound) {
    const end = await deps.log.endPosition()
    if (end === undefined) return undefined
    if (!(await waitForPosition(deps.pool, 'tasks', end, CATCH_UP_MS))) return undefined
  }
  const known = await Promise.all(
    [...shown].map(
      async ([family, ids]) =>
        [family, await findKnownNativeIds(deps.pool, family, [...ids])] as const,
    ),
  )
  return new Map(known)
}
