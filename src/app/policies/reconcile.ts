import { waitForPosition } from '../../../projections/engine/checkpoint.ts'
import {
  type DuePoll,
  findKnownNativeIds,
  findOpenSubmissions,
  leaseDuePolls,
  type Reschedule,
  reschedulePolls,
} from '../../../projections/tasks/query.ts'
import type { TaskRequest } from '../../domain/task/state.ts'
import { fromTimestamp, toTimestamp } from '../../kernel/clock.ts'
import type { Channel } from '../ports.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../tasks/commands.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import type { Observe } from '../tasks/observe.ts'
import { familyOf } from '../tasks/refresh.ts'
import { providerOf } from '../tasks/upstream.ts'
import { expireTask, mayExpire } from './expire.ts'
import { jittered, nextLookMs, reconcileIntervalMs } from './intervals.ts'
import { type Listing, listSince } from './listing.ts'
import { certainMatches, earliestMs, type ListedTask, onlyMatch, sendingTimeMs } from './match.ts'
import type { PolicySettings } from './poll.ts'

/** Finds out what became of submissions without a known outcome (design §4.1). */

const LEASE_LIMIT = 100
const LEASE_MS = 120_000
/** The read model must have seen every task of ours before a listed one counts as unknown. */
const CATCH_UP_MS = 10_000
/** Further requests with the same marker looked at; with more, nothing is unambiguous. */
const MAX_RIVALS = 50

interface Open {
  readonly poll: DuePoll
  readonly request: TaskRequest
  readonly phase: 'requested' | 'uncertain'
  readonly channels: readonly Channel[]
}

type Verdict = 'adopted' | 'absent' | 'ambiguous' | 'unreachable' | 'settled'

/** One round over what is due; upstream is listed once per channel for all of it. */
export function createReconcileRound(deps: TaskDeps, observe: Observe, settings: PolicySettings) {
  return async (signal: AbortSignal): Promise<'more' | 'idle'> => {
    const due = await leaseDuePolls(deps.pool, {
      owner: settings.owner,
      nowMs: deps.clock.nowMs(),
      leaseMs: LEASE_MS,
      limit: LEASE_LIMIT,
      kind: 'reconcile',
    })
    if (due.length === 0) return 'idle'
    const open = (await Promise.all(due.map((poll) => load(deps, poll)))).filter(
      (one) => one !== undefined,
    )
    const askedMs = deps.clock.nowMs()
    const listings = await listAll(deps, open, signal)
    if (signal.aborted) return 'idle'
    const known = await knownOf(deps, open, listings)
    const items: Reschedule[] = []
    const adopted = new Set<string>()
    for (const poll of due) {
      const one = open.find(({ poll: { platformId } }) => platformId === poll.platformId)
      const given = { poll, one, listings, known, adopted, askedMs }
      const item = await treat(deps, observe, settings, given)
      if (item !== undefined) items.push(item)
    }
    await reschedulePolls(deps.pool, settings.owner, items)
    return due.length === LEASE_LIMIT ? 'more' : 'idle'
  }
}

async function load(deps: TaskDeps, poll: DuePoll): Promise<Open | undefined> {
  const state = await loadTask(deps.log, poll.platformId)
  if (state.phase !== 'requested' && state.phase !== 'uncertain') return undefined
  const { request, phase } = state
  const { family, region, model } = request
  const serving = deps.channels.serving({ family, region, model })
  const first = deps.channels.byId(request.channelId)
  const channels = first === undefined || serving.includes(first) ? serving : [...serving, first]
  return { poll, request, phase, channels }
}

async function listAll(
  deps: TaskDeps,
  open: readonly Open[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Listing>> {
  const since = new Map<string, { readonly channel: Channel; readonly sinceMs: number }>()
  for (const { request, channels } of open) {
    for (const channel of channels) {
      const sinceMs = Math.min(
        since.get(channel.id)?.sinceMs ?? Number.MAX_SAFE_INTEGER,
        earliestMs(request),
      )
      since.set(channel.id, { channel, sinceMs })
    }
  }
  const listings = await Promise.all(
    [...since.values()].map(async ({ channel, sinceMs }): Promise<[string, Listing]> => {
      const provider = providerOf(deps, familyOf(channel))
      return [channel.id, await listSince(deps, provider, channel, sinceMs, signal)]
    }),
  )
  return new Map(listings)
}

/**
 * Native ids that are ours already. Read after the listing and after the read model passed the
 * log's end: whoever made a listed task had recorded its intent before (P1). Undefined when the
 * read model stays behind; then nothing is adopted.
 */
async function knownOf(
  deps: TaskDeps,
  open: readonly Open[],
  listings: ReadonlyMap<string, Listing>,
): Promise<ReadonlySet<string> | undefined> {
  const markers = new Set(open.map(({ request }) => request.marker))
  const candidates = [...listings.values()]
    .flatMap(({ tasks }) => tasks)
    .filter(({ task }) => task.marker !== undefined && markers.has(task.marker))
  if (candidates.length === 0) return new Set()
  const end = await deps.log.endPosition()
  if (end === undefined) return undefined
  if (!(await waitForPosition(deps.pool, 'tasks', end, CATCH_UP_MS))) return undefined
  const [first] = open
  if (first === undefined) return new Set()
  return findKnownNativeIds(
    deps.pool,
    first.request.family,
    candidates.map(({ task }) => task.nativeId),
  )
}

interface Case {
  readonly poll: DuePoll
  readonly one: Open | undefined
  readonly listings: ReadonlyMap<string, Listing>
  readonly known: ReadonlySet<string> | undefined
  /** Native ids adopted in this round. */
  readonly adopted: Set<string>
  /** Unix milliseconds before upstream was listed. */
  readonly askedMs: number
}

async function treat(
  deps: TaskDeps,
  observe: Observe,
  settings: PolicySettings,
  given: Case,
): Promise<Reschedule | undefined> {
  const { poll } = given
  const { platformId } = poll
  let verdict: Verdict
  try {
    verdict = await decide(deps, observe, given)
    deps.metrics.reconciled.inc({ outcome: verdict })
    const last = verdict === 'unreachable' ? 'unreachable' : 'absent'
    if (verdict === 'adopted') return undefined
    if (verdict !== 'settled' && mayExpire(poll, last, given.askedMs)) {
      await expireTask(deps, poll, 'policy-expire')
      return undefined
    }
  } catch (error) {
    deps.metrics.reconciled.inc({ outcome: 'failed' })
    deps.logger.warn({ platformId, err: error }, 'reconciliation failed: tried again')
  }
  const nowMs = deps.clock.nowMs()
  const waitMs = jittered(reconcileIntervalMs(poll.attempts, settings.scale), Math.random())
  return { platformId, dueAtMs: nextLookMs(nowMs, waitMs, poll.expiresAtMs) }
}

async function decide(deps: TaskDeps, observe: Observe, given: Case): Promise<Verdict> {
  const { one, listings, known, adopted } = given
  // Its outcome is in the log; the read model only has to catch up.
  if (one === undefined) return 'settled'
  const { request, phase, channels } = one
  await declareUncertain(deps, one, phase)
  const mine = channels.map((channel) => listings.get(channel.id))
  const complete = channels.length > 0 && mine.every((listing) => listing?.complete === true)
  if (known === undefined) return 'unreachable'
  const listed = mine
    .flatMap((listing) => listing?.tasks ?? [])
    .filter(({ task }) => !known.has(task.nativeId) && !adopted.has(task.nativeId))
  const certain = distinct(certainMatches(request, listed))
  const [found] = certain
  if (found !== undefined && certain.length === 1) {
    await adopt(deps, observe, request, found)
    adopted.add(found.task.nativeId)
    return 'adopted'
  }
  if (certain.length > 1) return report(deps, request, certain.length)
  if (!complete) return 'unreachable'
  if (request.markerIsOurs) return 'absent'
  const windowMs = sendingTimeMs(channels)
  const rivals = await rivalsOf(deps, request)
  const only = rivals && onlyMatch(request, rivals, distinct(listed), windowMs)
  // Asked after the rivals: one whose outcome was recorded since the listing is a rival or known.
  if (only !== undefined && !(await isKnown(deps, request, only))) {
    await adopt(deps, observe, request, only)
    adopted.add(only.task.nativeId)
    return 'adopted'
  }
  const candidates = listed.filter(({ task }) => task.marker === request.marker)
  return candidates.length === 0 ? 'absent' : report(deps, request, candidates.length)
}

/** A page that moved while it was listed shows a task twice, as do two channels of one account. */
function distinct(listed: readonly ListedTask[]): readonly ListedTask[] {
  return [...new Map(listed.map((one) => [one.task.nativeId, one])).values()]
}

async function isKnown(deps: TaskDeps, { family }: TaskRequest, { task }: ListedTask) {
  return (await findKnownNativeIds(deps.pool, family, [task.nativeId])).has(task.nativeId)
}

function report(deps: TaskDeps, request: TaskRequest, candidates: number): Verdict {
  const { platformId, tenantId } = request
  deps.logger.warn(
    { platformId, tenantId, candidates },
    'submission cannot be told apart from others: not adopted',
  )
  return 'ambiguous'
}

/** A request without an outcome, longer than any try could take, was cut short by a crash. */
async function declareUncertain(
  deps: TaskDeps,
  { request, channels }: Open,
  phase: Open['phase'],
): Promise<void> {
  if (phase !== 'requested') return
  const nowMs = deps.clock.nowMs()
  if (nowMs - fromTimestamp(request.requestedAt) < sendingTimeMs(channels)) return
  await executeTaskCommand(
    deps.log,
    request.platformId,
    { kind: 'uncertain', reason: 'no_outcome', at: toTimestamp(nowMs) },
    newCommandId(nowMs),
    { correlationId: 'policy-reconcile', tenantId: request.tenantId },
  )
}

/**
 * Other requests with the same marker and no outcome the read model knows of; one that has it since
 * is still a rival for what was listed before. Undefined when there are too many.
 */
async function rivalsOf(
  deps: TaskDeps,
  request: TaskRequest,
): Promise<readonly TaskRequest[] | undefined> {
  const { family, marker } = request
  const open = await findOpenSubmissions(deps.pool, { family, marker, limit: MAX_RIVALS + 1 })
  if (open.length > MAX_RIVALS) return undefined
  const states = await Promise.all(open.map(({ platformId }) => loadTask(deps.log, platformId)))
  return states.flatMap((state) =>
    state.phase === 'none' || state.phase === 'refused' ? [] : [state.request],
  )
}

async function adopt(
  deps: TaskDeps,
  observe: Observe,
  request: TaskRequest,
  { channel, task }: ListedTask,
): Promise<void> {
  const { platformId, tenantId } = request
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('reconcile.before-adopt')
  await executeTaskCommand(
    deps.log,
    platformId,
    {
      kind: 'submitted',
      nativeId: task.nativeId,
      channelId: channel.id,
      via: 'reconciliation',
      status: task.status === 'running' ? 'running' : 'queued',
      at: toTimestamp(nowMs),
    },
    newCommandId(nowMs),
    { correlationId: 'policy-reconcile', tenantId },
  )
  deps.crashPoint('reconcile.after-adopt')
  deps.logger.info({ platformId, nativeId: task.nativeId }, 'submission found upstream')
  await observe({ platformId, tenantId, observation: task, correlationId: 'policy-reconcile' })
}
