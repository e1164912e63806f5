import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import { absentSince } from '../../../domain/task/observe.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'
import { coverStart } from './absence.ts'
import { channelsOf, listAll, type SoughtRequest } from './evidence.ts'
import { nextWatchMs } from './intervals.ts'
import type { Listing } from './listing.ts'
import { certainMatches, type ListedTask } from './match.ts'
import { createTaskLeases, type DuePoll, type RescheduledPoll } from './task-work.ts'
import { createRound } from '../../queue/leases.ts'
import type { WorkerSettings } from '../../queue/worker.ts'

/**
 * Keeps looking for tasks that were given up, by an operator or as never accepted. Their callers were answered that
 * they failed, so one that appears after all is never billed: it is recorded as a possible cost.
 */

/** A task is watched for this long after the list that proved its absence. */
const WATCH_MS = 86_400_000
/** A task is watched for this long at most, while upstream cannot be queried. */
const LAST_WATCH_MS = 2 * WATCH_MS
const LEASE_LIMIT = 500
const LEASE_MS = 600_000

interface Watched extends SoughtRequest {
  readonly poll: DuePoll
  /** Start of the list that proved its absence, or the time at which an operator gave it up, Unix milliseconds. */
  readonly absentAtMs: number
}

/** One round over due tasks; each channel is listed once for all of them. */
export function createWatchRound(deps: TaskDeps, { owner, scale }: WorkerSettings) {
  const next = ({ platformId, attempts }: DuePoll): RescheduledPoll => ({
    id: platformId,
    dueAtMs: nextWatchMs(deps.clock.nowMs(), attempts, scale),
  })
  return createRound({
    leases: createTaskLeases(deps, { owner, lane: 'watch', leaseMs: LEASE_MS }),
    query: () => ({ nowMs: deps.clock.nowMs(), limit: LEASE_LIMIT }),
    work: async (due, signal) => {
      const over = await look(deps, due, signal)
      const again = due.filter(({ platformId }) => !over.has(platformId))
      return { again: again.map(next), over: [...over] }
    },
    putOff: next,
  })
}

/** Looks for all due tasks; returns those whose watch is over. */
async function look(
  deps: TaskDeps,
  due: readonly DuePoll[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const loaded = await Promise.all(due.map((poll) => load(deps, poll)))
  const watched = loaded.filter((one) => one !== undefined)
  const askedMs = deps.clock.nowMs()
  const listings = await listAll(deps, watched, signal)
  const over = new Set<string>()
  for (const one of watched) {
    const [found] = certainMatches(one.request, listedFor(one, listings))
    if (found !== undefined) await reportOrSay(deps, one, found)
    else if (isOver(one, askedMs, coverStart(one.request, one.channels, listings)))
      over.add(one.poll.platformId)
  }
  return over
}

/**
 * Undefined if the task need not be watched any more, or its stream cannot be read: then its row is
 * kept.
 */
async function load(deps: TaskDeps, poll: DuePoll): Promise<Watched | undefined> {
  const { platformId } = poll
  try {
    const state = await loadTask(deps.log, platformId)
    const since = absentSince(state)
    if (state.phase !== 'ended' || since === undefined || state.appearedLate) return undefined
    const { request } = state
    const absentAtMs = fromTimestamp(since)
    return { poll, request, channels: channelsOf(deps, request), absentAtMs }
  } catch (error) {
    deps.logger.warn({ platformId, err: error }, 'request not readable: tried again')
    return undefined
  }
}

function listedFor(
  { channels }: SoughtRequest,
  listings: ReadonlyMap<string, Listing>,
): readonly ListedTask[] {
  return channels.flatMap(({ id }) => listings.get(id)?.tasks ?? [])
}

function isOver({ absentAtMs }: Watched, askedMs: number, isWhole: boolean): boolean {
  return askedMs >= absentAtMs + (isWhole ? WATCH_MS : LAST_WATCH_MS)
}

/** A failed write for one task must not prevent the recording of the others. */
async function reportOrSay(deps: TaskDeps, one: Watched, found: ListedTask): Promise<void> {
  try {
    await report(deps, one, found)
  } catch (error) {
    const { platformId } = one.poll
    deps.logger.warn({ platformId, err: error }, 'late appearance not recorded: tried again')
  }
}

async function report(
  deps: TaskDeps,
  { poll, request }: Watched,
  { channel, task }: ListedTask,
): Promise<void> {
  const { platformId, tenantId } = poll
  const { nativeId, upstreamStatus } = task
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('watch.before-append')
  const { events } = await executeTaskCommand(
    deps,
    platformId,
    { kind: 'appeared', nativeId, channelId: channel.id, upstreamStatus, at: toTimestamp(nowMs) },
    newCommandId(nowMs),
    { correlationId: 'policy-watch', tenantId },
  )
  if (events.length === 0) return
  deps.metrics.possibleCostLeaks.inc()
  deps.logger.error(
    { platformId, tenantId, nativeId, channelId: channel.id, model: request.model },
    'task given up has appeared upstream: upstream may bill it',
  )
}
