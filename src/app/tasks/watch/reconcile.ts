import { isProjected } from '../../access/own-writes.ts'
import { createRound } from '../../queue/leases.ts'
import { findKnownNativeIds, findOpenSubmissions } from '../../../../projections/tasks/query.ts'
import type { TaskRequest } from '../../../domain/task/state.ts'
import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'
import type { Observe } from '../observe.ts'
import {
  giveUp,
  isConfirmed,
  latestAcceptanceMs,
  LIST_INTERVAL_MS,
  provesAbsence,
  coverStart,
} from './absence.ts'
import { type KnownNativeIds, knownOf, listAll, loadOpen, type OpenRequest } from './evidence.ts'
import { expireTask, mayExpire } from './expire.ts'
import { jittered, nextLookMs, reconcileIntervalMs } from './intervals.ts'
import type { Listing } from './listing.ts'
import { createTaskLeases, type DuePoll, type RescheduledPoll } from './task-work.ts'
import {
  certainMatches,
  lastLikelyMs,
  type ListedTask,
  onlyMatch,
  possibleMatches,
  sendingTimeMs,
} from './match.ts'
import { providerOf } from '../submit.ts'
import type { WorkerSettings } from '../../queue/worker.ts'

const LEASE_LIMIT = 100
/** Ample for a long list; a dead worker's leases are freed sooner (`src/app/queue/presence.ts`). */
const LEASE_MS = 600_000
/** A look that failed on our side is repeated after this. */
const PUT_OFF_MS = 15_000
/** Further requests with the same marker considered; with more, no match is unambiguous. */
const MAX_RIVALS = 50

/** `missing`: a list that must show it does not. `absent`: a list that proves nothing. */
type Verdict = 'adopted' | 'missing' | 'absent' | 'ambiguous' | 'unreachable' | 'settled'

/** One round over due requests; each channel is listed once for all of them. */
export function createReconcileRound(deps: TaskDeps, observe: Observe, settings: WorkerSettings) {
  const { owner } = settings
  return createRound({
    leases: createTaskLeases(deps, { owner, lane: 'reconcile', leaseMs: LEASE_MS }),
    query: () => ({ nowMs: deps.clock.nowMs(), limit: LEASE_LIMIT }),
    work: async (due, signal) => ({ again: await look(deps, observe, settings, due, signal) }),
    putOff: (poll) => putOff(deps, settings, poll),
  })
}

/** Looks for all due requests; returns when to look again for those still open. */
async function look(
  deps: TaskDeps,
  observe: Observe,
  settings: WorkerSettings,
  due: readonly DuePoll[],
  signal: AbortSignal,
): Promise<readonly RescheduledPoll[]> {
  const loaded = new Map<string, OpenRequest | 'settled' | 'unreadable'>()
  await Promise.all(
    due.map(async (poll) => loaded.set(poll.platformId, await loadOrSay(deps, poll))),
  )
  const open = [...loaded.values()].filter((one) => typeof one === 'object')
  const askedMs = deps.clock.nowMs()
  const listings = await listAll(deps, open, signal)
  // A worker that stops frees its leases.
  if (signal.aborted) return []
  const known = await knownOf(deps, listings)
  const items: RescheduledPoll[] = []
  const adopted = new Set<string>()
  for (const poll of due) {
    const one = loaded.get(poll.platformId) ?? 'unreadable'
    const item =
      one === 'unreadable'
        ? putOff(deps, settings, poll)
        : await reconcileOne(deps, observe, settings, {
            poll,
            one,
            listings,
            known,
            adopted,
            askedMs,
          })
    if (item !== undefined) items.push(item)
  }
  return items
}

/** One unreadable stream must not prevent the reconciler from handling the others. */
async function loadOrSay(
  deps: TaskDeps,
  poll: DuePoll,
): Promise<OpenRequest | 'settled' | 'unreadable'> {
  try {
    return await loadOpen(deps, poll)
  } catch (error) {
    const { platformId } = poll
    deps.metrics.reconciled.inc({ outcome: 'failed' })
    deps.logger.warn({ platformId, err: error }, 'request not readable: tried again')
    return 'unreadable'
  }
}

function putOff(
  deps: TaskDeps,
  settings: WorkerSettings,
  { platformId }: DuePoll,
): RescheduledPoll {
  const waitMs = jittered(PUT_OFF_MS * settings.scale)
  return { id: platformId, dueAtMs: deps.clock.nowMs() + waitMs }
}

interface Case {
  readonly poll: DuePoll
  readonly one: OpenRequest | 'settled'
  readonly listings: ReadonlyMap<string, Listing>
  readonly known: KnownNativeIds | undefined
  /** Native ids adopted in this round. */
  readonly adopted: Set<string>
  /** Unix milliseconds before the listing. */
  readonly askedMs: number
}

async function reconcileOne(
  deps: TaskDeps,
  observe: Observe,
  settings: WorkerSettings,
  given: Case,
): Promise<RescheduledPoll | undefined> {
  const { poll, one, askedMs } = given
  const { platformId } = poll
  let verdict: Verdict | undefined
  try {
    verdict = await decide(deps, observe, given)
    deps.metrics.reconciled.inc({ outcome: verdict })
    const last = verdict === 'unreachable' ? 'unreachable' : 'absent'
    if (verdict === 'adopted') return undefined
    if (verdict === 'missing' && isConfirmed(poll.absentAtMs, askedMs)) {
      const looks = { firstMs: poll.absentAtMs, lastMs: askedMs }
      if (await giveUp(deps, poll, looks)) return undefined
    } else if (verdict !== 'settled' && mayExpire(deps, poll, last, askedMs)) {
      if (await expireTask(deps, poll, 'policy-expire')) return undefined
    }
  } catch (error) {
    deps.metrics.reconciled.inc({ outcome: 'failed' })
    deps.logger.warn({ platformId, err: error }, 'reconciliation failed: tried again')
  }
  const absentAtMs = poll.absentAtMs ?? (verdict === 'missing' ? askedMs : undefined)
  const waitMs = jittered(reconcileIntervalMs(poll.attempts, settings.scale))
  const dueAtMs = nextLookMs(
    deps.clock.nowMs(),
    waitMs,
    poll.expiresAtMs,
    one === 'settled' ? undefined : latestAcceptanceMs(one.request, one.channels),
    absentAtMs && absentAtMs + LIST_INTERVAL_MS,
  )
  return { id: platformId, dueAtMs, notes: { absent_at_ms: absentAtMs } }
}

async function decide(deps: TaskDeps, observe: Observe, given: Case): Promise<Verdict> {
  const { one, listings, adopted, askedMs } = given
  // The log has its outcome; the read model only has to catch up.
  if (one === 'settled') return 'settled'
  const { request, phase, channels } = one
  await declareUncertain(deps, one, phase)
  const mine = channels.map((channel) => listings.get(channel.id))
  if (given.known === undefined) return 'unreachable'
  const known = given.known.get(request.family) ?? new Map<string, string>()
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
  const look = { listings, known, askedMs }
  if (provesAbsence(request, channels, look)) return 'missing'
  if (!coverStart(request, channels, listings)) return 'unreachable'
  const { showsMarkers } = providerOf(deps, request.family)
  if (showsMarkers && request.markerIsOurs) return 'absent'
  const windowMs = sendingTimeMs(channels)
  const agreeing = possibleMatches(request, distinct(listed), windowMs, showsMarkers)
  if (askedMs >= lastLikelyMs(request, deps.catalog.taskFamily(request.family), windowMs))
    return 'absent'
  const rivals = await rivalsOf(deps, request, showsMarkers)
  const only = rivals && onlyMatch(request, rivals, agreeing, windowMs, showsMarkers)
  // Checked after the rivals: a request whose outcome was recorded since the listing is a rival or
  // known.
  if (only !== undefined && !(await isKnown(deps, request, only))) {
    await adopt(deps, observe, request, only)
    adopted.add(only.task.nativeId)
    return 'adopted'
  }
  const candidates = showsMarkers
    ? listed.filter(({ task }) => task.marker === request.marker)
    : agreeing
  return candidates.length === 0 ? 'absent' : report(deps, request, candidates.length)
}

/** A list that moved while it was read shows a task twice, as do two channels of one account. */
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
    'several listed tasks match the submission; it is not adopted',
  )
  return 'ambiguous'
}

/** A request without an outcome, for longer than any try could take, was interrupted by a crash. */
async function declareUncertain(
  deps: TaskDeps,
  { request, channels }: OpenRequest,
  phase: OpenRequest['phase'],
): Promise<void> {
  if (phase !== 'requested') return
  const nowMs = deps.clock.nowMs()
  if (nowMs - fromTimestamp(request.requestedAt) < sendingTimeMs(channels)) return
  await executeTaskCommand(
    deps,
    request.platformId,
    { kind: 'uncertain', reason: 'no_outcome', at: toTimestamp(nowMs) },
    newCommandId(nowMs),
    { correlationId: 'policy-reconcile', tenantId: request.tenantId },
  )
}

/**
 * Other requests without an outcome in the read model, with the same marker where lists show it;
 * one that got its outcome since is still a rival for the earlier listing. Undefined when there are
 * too many.
 */
async function rivalsOf(
  deps: TaskDeps,
  request: TaskRequest,
  showsMarkers: boolean,
): Promise<readonly TaskRequest[] | undefined> {
  const { family, marker } = request
  const open = await findOpenSubmissions(deps.pool, {
    family,
    ...(showsMarkers ? { marker } : {}),
    limit: MAX_RIVALS + 1,
  })
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
  const { position } = await executeTaskCommand(
    deps,
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
  // A success is judged by the read model, which must have this submission.
  await isProjected(deps, position)
  await observe({ platformId, tenantId, observation: task, correlationId: 'policy-reconcile' })
}
