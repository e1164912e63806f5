import {
  type DuePoll,
  leaseDuePolls,
  type Reschedule,
  reschedulePolls,
} from '../../../projections/tasks/query.ts'
import { type Channel, ProviderError, type TaskGone, type TaskObservation } from '../ports.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import type { Observe } from '../tasks/observe.ts'
import { familyOf } from '../tasks/refresh.ts'
import { callOptions, callUpstream, providerOf } from '../tasks/upstream.ts'
import { expireTask, type LastWord, mayExpire } from './expire.ts'
import { failedPollMs, GONE_POLL_MS, jittered, nextLookMs, pollIntervalMs } from './intervals.ts'

/** Asks upstream for every open task until its end (design §4.1); never gives up by count. */

/** Tasks leased at once, and for how long: ample for asking for them at the slowest pace. */
const LEASE_LIMIT = 400
const LEASE_MS = 60_000

export interface PolicySettings {
  /** Names this process in leases. */
  readonly owner: string
  /** Multiplies every interval. */
  readonly scale: number
}

type Seen = TaskObservation | TaskGone | ProviderError

/** One round: leases what is due, asks channel by channel, says when to ask again. */
export function createPollRound(deps: TaskDeps, observe: Observe, settings: PolicySettings) {
  return async (signal: AbortSignal): Promise<'more' | 'idle'> => {
    const due = await leaseDuePolls(deps.pool, {
      owner: settings.owner,
      nowMs: deps.clock.nowMs(),
      leaseMs: LEASE_MS,
      limit: LEASE_LIMIT,
      kind: 'poll',
    })
    if (due.length > 0) deps.crashPoint('poll.after-lease')
    const work = [...groupByChannel(due)].flatMap(([channelId, tasks]) => {
      const channel = deps.channels.byId(channelId)
      if (channel === undefined) return [withoutChannel(deps, settings, channelId, tasks)]
      const [first] = tasks
      if (first === undefined) return []
      const size = providerOf(deps, familyOf(first)).maxListIds
      return inChunks(tasks, size).map((chunk) =>
        pollChunk(deps, observe, settings, channel, chunk, signal),
      )
    })
    await Promise.all(work)
    return due.length === LEASE_LIMIT ? 'more' : 'idle'
  }
}

function groupByChannel(due: readonly DuePoll[]): ReadonlyMap<string, readonly DuePoll[]> {
  const groups = new Map<string, DuePoll[]>()
  for (const task of due) {
    const group = groups.get(task.channelId)
    if (group === undefined) groups.set(task.channelId, [task])
    else group.push(task)
  }
  return groups
}

function inChunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const chunks: Item[][] = []
  for (let start = 0; start < items.length; start += size)
    chunks.push(items.slice(start, start + size))
  return chunks
}

/** A channel that was taken out of the configuration: its tasks wait for it to come back. */
async function withoutChannel(
  deps: TaskDeps,
  settings: PolicySettings,
  channelId: string,
  tasks: readonly DuePoll[],
): Promise<void> {
  deps.logger.error({ channelId, tasks: tasks.length }, 'tasks of a channel that is not configured')
  const gone = new ProviderError('unavailable', 'ruled_out', 'The channel is not configured.')
  const items = await Promise.all(tasks.map((task) => settle(deps, settings, task, gone, false)))
  await reschedulePolls(
    deps.pool,
    settings.owner,
    items.filter((item) => item !== undefined),
  )
}

async function pollChunk(
  deps: TaskDeps,
  observe: Observe,
  settings: PolicySettings,
  channel: Channel,
  tasks: readonly DuePoll[],
  signal: AbortSignal,
): Promise<void> {
  const answers = await askAll(deps, channel, tasks, signal)
  const items = await Promise.all(
    tasks.map(async (task) => {
      const seen = answers.get(task.nativeId ?? '')
      // Stopped before it was asked for: the lease ends by itself.
      if (seen === undefined) return undefined
      return record(deps, observe, settings, task, seen)
    }),
  )
  await reschedulePolls(
    deps.pool,
    settings.owner,
    items.filter((item) => item !== undefined),
  )
}

/** Answers by native id: in one list where that works, one by one what it left open. */
async function askAll(
  deps: TaskDeps,
  channel: Channel,
  tasks: readonly DuePoll[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Seen>> {
  const [first] = tasks
  const nativeIds = tasks.flatMap((task) => task.nativeId ?? [])
  if (first === undefined) return new Map()
  const provider = providerOf(deps, familyOf(first))
  const pace = deps.paces.of(channel)
  const options = callOptions('policy-poll', signal)
  const answers = new Map<string, Seen>()
  if (nativeIds.length > 1) {
    const listed = await pace
      .run(signal, () =>
        callUpstream(deps, channel, 'list', () => provider.list(channel, { nativeIds }, options)),
      )
      .catch(failureOf)
    if (listed instanceof ProviderError && listed.kind !== 'malformed')
      return new Map(nativeIds.map((id) => [id, listed]))
    if (!(listed instanceof ProviderError))
      for (const item of listed.items) answers.set(item.nativeId, item)
  }
  // What a list leaves out is not gone for that: only a query of its own tells.
  await Promise.all(
    nativeIds
      .filter((id) => !answers.has(id))
      .map(async (id) => {
        const seen = await pace
          .run(signal, () =>
            callUpstream(deps, channel, 'get', () => provider.get(channel, id, options)),
          )
          .catch(failureOf)
        if (!signal.aborted) answers.set(id, seen)
      }),
  )
  return answers
}

function failureOf(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  return new ProviderError('unavailable', 'ruled_out', 'The query was not made.', { cause: error })
}

async function record(
  deps: TaskDeps,
  observe: Observe,
  settings: PolicySettings,
  task: DuePoll,
  seen: Seen,
): Promise<Reschedule | undefined> {
  const { platformId, tenantId } = task
  deps.metrics.polls.inc({ outcome: seen instanceof ProviderError ? seen.kind : seen.status })
  if (seen instanceof ProviderError || seen.status === 'gone')
    return settle(deps, settings, task, seen, false)
  try {
    const { ended } = await observe({
      platformId,
      tenantId,
      observation: seen,
      correlationId: 'policy-poll',
    })
    return await settle(deps, settings, task, seen, ended)
  } catch (error) {
    deps.logger.warn({ platformId, err: error }, 'observation not recorded: asked for again')
    return settle(deps, settings, task, failureOf(error), false)
  }
}

/** When to ask again; undefined once nothing is left to ask. */
async function settle(
  deps: TaskDeps,
  settings: PolicySettings,
  task: DuePoll,
  seen: Seen,
  ended: boolean,
): Promise<Reschedule | undefined> {
  if (ended) return undefined
  const { platformId } = task
  const nowMs = deps.clock.nowMs()
  const failed = seen instanceof ProviderError
  const last: LastWord = failed ? 'unreachable' : seen.status === 'gone' ? 'absent' : 'open'
  if (mayExpire(task, last, nowMs)) {
    try {
      await expireTask(deps, task, 'policy-expire')
      return undefined
    } catch (error) {
      deps.logger.warn({ platformId, err: error }, 'expiry not recorded: tried again')
    }
  }
  const ageMs = nowMs - task.requestedAtMs
  let waitMs = pollIntervalMs(ageMs, settings.scale)
  if (failed) waitMs = failedPollMs(ageMs, settings.scale, seen.retryAfterMs)
  else if (seen.status === 'gone') waitMs = GONE_POLL_MS * settings.scale
  return {
    platformId,
    dueAtMs: nextLookMs(nowMs, jittered(waitMs, Math.random()), task.expiresAtMs),
    ...(failed ? {} : { observedAtMs: nowMs }),
  }
}
