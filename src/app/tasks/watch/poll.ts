import { noteObservations } from '../../../../projections/tasks/query.ts'
import { type Channel, ProviderError } from '../../ports/provider.ts'
import { dueHeldJobs, holdOnFailure, postpone } from '../../queue/held-jobs.ts'
import type { RoundOutcome } from '../../queue/policy-loop.ts'
import type { WorkerSettings } from '../../queue/worker.ts'
import type { TaskDeps } from '../deps.ts'
import type { Observe } from '../observe.ts'
import { askAll, askFailureOf, type PollAnswer } from './ask.ts'
import { providerOf } from '../submit.ts'
import { expireTask, type LastAnswer, mayExpire } from './expire.ts'
import { createPlaces } from './channel-slots.ts'
import { HeldPolls } from './held-polls.ts'
import {
  createTaskLeases,
  type DuePoll,
  type RescheduledPoll,
  type TaskLeases,
} from './task-work.ts'
import {
  failedPollMs,
  GONE_POLL_MS,
  jittered,
  nextLookMs,
  POLL_LEASE_MS,
  pollIntervalMs,
} from './intervals.ts'

/** Polls upstream for every open task until its end; it never gives up after a number of polls. */

/**
 * Tasks per lease. A dead worker's leases are freed before they end (`src/app/queue/presence.ts`).
 */
const LEASE_LIMIT = 400
/** Lists of one channel running or waiting for its pace. */
const CHUNKS_A_CHANNEL = 8
/** Tasks queried one by one in one place, where lists by id are missing: fits in a lease. */
const SINGLES_A_CHUNK = 25
/** A busy channel's further tasks are retried after this. */
const PUT_OFF_MS = 1_000
/** Rows of held tasks in one statement: a write of some 20 ms. */
const SEEN_LIMIT = 1_000

/** Upstream's answer about a task. */
interface PolledTask {
  readonly task: DuePoll
  readonly seen: PollAnswer
  /** Unix milliseconds before the query: the answer is not older. */
  readonly askedMs: number
}

interface Poller {
  /** One round: leases due tasks and starts polling them, channel by channel. */
  readonly round: (signal: AbortSignal) => Promise<RoundOutcome>
  /** Writes when upstream answered for held tasks, for a bounded number of them. */
  readonly writeSeen: () => Promise<RoundOutcome>
  /** Waits for running polls. */
  readonly drain: () => Promise<void>
}

/**
 * Rounds do not wait for answers, so a channel that hangs fills only its own places and does not
 * delay other channels.
 */
export function createPoller(deps: TaskDeps, observe: Observe, settings: WorkerSettings): Poller {
  const places = createPlaces(CHUNKS_A_CHANNEL, deps.channels.all.length, (channelId, error) => {
    // The tasks are polled again when their leases end, or before.
    deps.metrics.policyFailures.inc({ policy: 'poll' })
    deps.logger.warn({ channelId, err: error }, 'poll aborted')
  })
  const held = new HeldPolls()
  const { owner } = settings
  const leases = createTaskLeases(deps, { owner, lane: 'poll', leaseMs: POLL_LEASE_MS })
  const asking: Asking = { deps, observe, settings, held, leases }
  const againAtMs = () => deps.clock.nowMs() + PUT_OFF_MS * settings.scale
  const begin = (channelId: string, tasks: readonly DuePoll[], signal: AbortSignal): void => {
    const channel = deps.channels.byId(channelId)
    const [first] = tasks
    if (first === undefined) return
    if (channel === undefined) {
      places.take(channelId, () =>
        holdOnFailure(asking, tasks, () => withoutChannel(asking, channelId, tasks), againAtMs),
      )
      return
    }
    const size = providerOf(deps, first.family).maxListIds || SINGLES_A_CHUNK
    for (const chunk of inChunks(tasks, size)) {
      const free = places.free(channelId)
      places.take(channelId, () =>
        holdOnFailure(
          asking,
          chunk,
          // A channel at its limit is tried again when it may have caught up.
          () =>
            free ? pollChunk(asking, channel, chunk, signal) : postpone(asking, chunk, againAtMs()),
          againAtMs,
        ),
      )
    }
  }
  return {
    drain: places.drain,
    writeSeen: async () => {
      // A failed write is not repeated: a later answer replaces it.
      await noteObservations(deps.pool, held.takeSeen(SEEN_LIMIT))
      return 'idle'
    },
    round: async (signal) => {
      await places.someFree(signal)
      const nowMs = deps.clock.nowMs()
      // A task that this process cannot poll now stays in the queue for other workers.
      const busy = deps.channels.all.flatMap(({ id }) => (places.free(id) ? [] : [id]))
      const mayAsk = ({ channelId }: DuePoll): boolean => !busy.includes(channelId)
      const again = await dueHeldJobs(asking, nowMs, LEASE_LIMIT, mayAsk)
      const due = await leases.take({ nowMs, limit: LEASE_LIMIT, besidesChannels: busy })
      // Only now: if a statement before this fails, they stay held.
      held.drop(again)
      if (due.length > 0) deps.crashPoint('poll.after-lease')
      // A task whose lease has ended may be in both.
      const all = new Map([...again, ...due].map((task) => [task.platformId, task]))
      for (const [channelId, tasks] of groupByChannel(all.values())) begin(channelId, tasks, signal)
      if (all.size === 0) return 'idle'
      return due.length === LEASE_LIMIT || again.length === LEASE_LIMIT ? 'more' : 'some'
    },
  }
}

/** The dependencies of polling. */
interface Asking {
  readonly deps: TaskDeps
  readonly observe: Observe
  readonly settings: WorkerSettings
  readonly held: HeldPolls
  readonly leases: TaskLeases
}

const idsOf = (tasks: readonly DuePoll[]): readonly string[] =>
  tasks.map(({ platformId }) => platformId)

function groupByChannel(due: Iterable<DuePoll>): ReadonlyMap<string, readonly DuePoll[]> {
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

/** A channel that was removed from the configuration: its tasks wait until it returns. */
async function withoutChannel(
  { deps, settings, leases }: Asking,
  channelId: string,
  tasks: readonly DuePoll[],
): Promise<void> {
  deps.logger.error({ channelId, tasks: tasks.length }, 'tasks of an unknown channel')
  const gone = new ProviderError('unavailable', 'ruled_out', 'The channel is not configured.')
  const askedMs = deps.clock.nowMs()
  const items = await Promise.all(
    tasks.map((task) => nextPoll(deps, settings, { task, seen: gone, askedMs }, false)),
  )
  leases.forget(idsOf(tasks.filter((_, index) => items[index] === undefined)))
  await leases.reschedule(items.filter((item) => item !== undefined))
}

async function pollChunk(
  { deps, observe, settings, held, leases }: Asking,
  channel: Channel,
  tasks: readonly DuePoll[],
  signal: AbortSignal,
): Promise<void> {
  const askedMs = deps.clock.nowMs()
  const answers = await askAll(deps, channel, tasks, signal)
  const items = await Promise.all(
    tasks.map(async (task) => {
      const seen = answers.get(task.nativeId ?? '')
      // Stopped before the poll: its lease is freed.
      if (seen === undefined) return undefined
      const item = await record(deps, observe, settings, { task, seen, askedMs })
      if (item === undefined) leases.forget([task.platformId])
      const observedAtMs = item?.notes?.observed_at_ms
      if (item === undefined || observedAtMs === undefined) return item
      return held.keepSeen(task, item.dueAtMs, observedAtMs) ? undefined : item
    }),
  )
  await leases.reschedule(items.filter((item) => item !== undefined))
}

async function record(
  deps: TaskDeps,
  observe: Observe,
  settings: WorkerSettings,
  look: PolledTask,
): Promise<RescheduledPoll | undefined> {
  const { task, seen } = look
  const { platformId, tenantId } = task
  deps.metrics.polls.inc({ outcome: seen instanceof ProviderError ? seen.kind : seen.status })
  if (seen instanceof ProviderError || seen.status === 'gone')
    return nextPoll(deps, settings, look, false)
  try {
    const { ended } = await observe({
      platformId,
      tenantId,
      observation: seen,
      correlationId: 'policy-poll',
    })
    return await nextPoll(deps, settings, look, ended)
  } catch (error) {
    deps.logger.warn(
      { platformId, err: error },
      'observation not recorded: the task is polled again',
    )
    return nextPoll(deps, settings, { ...look, seen: askFailureOf(error) }, false)
  }
}

/** Time of the next poll; undefined if the task need not be polled any more. */
async function nextPoll(
  deps: TaskDeps,
  settings: WorkerSettings,
  { task, seen, askedMs }: PolledTask,
  ended: boolean,
): Promise<RescheduledPoll | undefined> {
  if (ended) return undefined
  const { platformId } = task
  const nowMs = deps.clock.nowMs()
  const failed = seen instanceof ProviderError
  const last: LastAnswer = failed ? 'unreachable' : seen.status === 'gone' ? 'absent' : 'open'
  if (mayExpire(deps, task, last, askedMs)) {
    try {
      if (await expireTask(deps, task, 'policy-expire')) return undefined
    } catch (error) {
      deps.logger.warn({ platformId, err: error }, 'expiry not recorded: retried')
    }
  }
  const ageMs = nowMs - task.requestedAtMs
  let waitMs = pollIntervalMs(ageMs, settings.scale)
  if (failed) waitMs = failedPollMs(ageMs, settings.scale, seen.retryAfterMs)
  else if (seen.status === 'gone') waitMs = GONE_POLL_MS * settings.scale
  return {
    id: platformId,
    dueAtMs: nextLookMs(nowMs, jittered(waitMs), task.expiresAtMs),
    ...(failed ? {} : { notes: { observed_at_ms: nowMs } }),
  }
}
