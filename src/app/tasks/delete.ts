import type { TaskRow } from '../../../projections/tasks/query.ts'
import { toTimestamp, monotonicClock } from '../../kernel/clock.ts'
import type { DomainError } from '../../kernel/errors.ts'
import { pause } from '../../kernel/pause.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import { createSingleFlight } from '../../platform/single-flight.ts'
import { executeTaskCommand, newCommandId, logFailure, taskError } from './task-log.ts'
import type { TaskDeps } from './deps.ts'
import { catchUp, findOwnSubmittedTask, findOwnTask } from '../access/own-writes.ts'
import { isTerminal } from './observe.ts'
import { runPaced } from '../channels/paced-calls.ts'
import { patience, type RefreshResult, type Refresher } from './refresh.ts'
import type { CancelTask, DeleteTask, TaskKey } from './types.ts'
import { viewOf } from './reads.ts'
import { callOptions, callUpstream, REFRESH_TIMEOUT_MS } from '../channels/call-upstream.ts'
import { providerOf } from './submit.ts'

/** A refresh older than this does not show whether the task is still queued. */
const MAX_REFRESH_AGE_MS = 200
const REFRESHES_BEFORE_FORWARDING = 3
/** Upstream may confirm the deletion before its own queries show it. */
const CONFIRMATIONS = 5
const CONFIRMATION_PAUSE_MS = 200

interface Removal {
  readonly row: TaskRow
  readonly requestId: string
  readonly tokenId: string
  /** Handles a task that ended by itself, now or before. */
  readonly ended: (status: string) => Promise<void>
}

/**
 * DELETE of a task. An ended task is hidden, after settlement; a queued one is cancelled upstream
 * and confirmed; a running one is refused. Deleting an ended record upstream would destroy its
 * usage, so the gateway forwards only deletions of queued tasks.
 */
export function createDeleteTask(deps: TaskDeps, refresher: Refresher): DeleteTask {
  const removals = createSingleFlight<void>()
  return async (key) => {
    const row = await findOwnSubmittedTask(deps, ownKey(key))
    const { platformId } = row
    const { requestId, principal } = key
    const removal = { row, requestId, tokenId: principal.tokenId }
    await removals.run(platformId, () =>
      remove(deps, refresher, { ...removal, ended: () => hide(deps, removal) }),
    )
    // Every replica must agree with this answer.
    await logFailure(deps, platformId, catchUp(deps, 'tasks', principal.tenantId))
    return { platformId }
  }
}

/**
 * Cancels a task without hiding it. The log decides whether the cancellation or the task's own end
 * came first, and an end does not change.
 */
export function createCancelTask(deps: TaskDeps, refresher: Refresher): CancelTask {
  const cancels = createSingleFlight<void>()
  return async (key) => {
    const row = await findOwnSubmittedTask(deps, ownKey(key))
    const { platformId } = row
    const { requestId, principal } = key
    const ended = (status: string): Promise<void> => Promise.reject(hasEnded(row, status))
    await cancels.run(platformId, () =>
      remove(deps, refresher, { row, requestId, tokenId: principal.tokenId, ended }),
    )
    await logFailure(deps, platformId, catchUp(deps, 'tasks', principal.tenantId))
    return viewOf(await findOwnTask(deps, { ...ownKey(key), id: platformId }), undefined)
  }
}

function ownKey({ principal, family, id }: TaskKey): Parameters<typeof findOwnTask>[1] {
  return { tenantId: principal.tenantId, families: [family].flat(), id }
}

async function remove(deps: TaskDeps, refresher: Refresher, removal: Removal): Promise<void> {
  const { row } = removal
  if (isTerminal(row.status)) return removal.ended(row.status)
  if (row.nativeId === null) throw running(row)
  for (let attempt = 0; attempt < REFRESHES_BEFORE_FORWARDING; attempt += 1) {
    const { seen, outcome } = await ask(refresher, removal)
    const seenAtMs = monotonicClock.nowMs()
    // Another DELETE was first: the task is cancelled already.
    if (seen.status === 'cancelled') return undefined
    // The refresh itself settles a success, before anything is hidden.
    if (outcome.ended) return removal.ended(seen.status)
    if (seen.status === 'gone') throw vanished(deps, removal)
    if (seen.status !== 'queued') throw running(row)
    const forwarded = await forward(deps, removal, row.nativeId, seenAtMs)
    if (forwarded === 'too_late') continue
    return confirm(deps, refresher, removal)
  }
  throw unavailable(row)
}

async function ask(refresher: Refresher, { row, requestId }: Removal): Promise<RefreshResult> {
  try {
    return await refresher.now(row, requestId)
  } catch (error) {
    if (error instanceof ProviderError) throw unavailable(row)
    throw error
  }
}

/** Sends the deletion upstream, only right after upstream reported the task as queued. */
async function forward(
  deps: TaskDeps,
  { row, requestId }: Removal,
  nativeId: string,
  seenAtMs: number,
): Promise<'forwarded' | 'too_late'> {
  const channel = deps.channels.byId(row.channelId)
  if (channel === undefined) throw unavailable(row)
  deps.crashPoint('delete.before-forward')
  try {
    return await runPaced(deps, channel, patience(), async () => {
      if (monotonicClock.nowMs() - seenAtMs > MAX_REFRESH_AGE_MS) return 'too_late'
      const outcome = await cancelUpstream(deps, channel, row, nativeId, requestId)
      deps.logger.info({ platformId: row.platformId, requestId, outcome }, 'deletion forwarded')
      deps.crashPoint('delete.after-forward')
      return 'forwarded'
    })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    // The next query shows the outcome.
    deps.logger.warn({ platformId: row.platformId, requestId, kind: error.kind }, 'deletion failed')
    return 'forwarded'
  }
}

function cancelUpstream(
  deps: TaskDeps,
  channel: Channel,
  row: TaskRow,
  nativeId: string,
  requestId: string,
) {
  return callUpstream(deps, channel, 'cancel', () =>
    providerOf(deps, row.family).cancel(
      channel,
      nativeId,
      callOptions(requestId, AbortSignal.timeout(REFRESH_TIMEOUT_MS)),
    ),
  )
}

/** Only a later query shows whether upstream's deletion took effect. */
async function confirm(deps: TaskDeps, refresher: Refresher, removal: Removal): Promise<void> {
  const { row } = removal
  for (let look = 0; look < CONFIRMATIONS; look += 1) {
    if (look > 0) await pause(CONFIRMATION_PAUSE_MS)
    const { seen, outcome } = await ask(refresher, removal)
    deps.crashPoint('delete.after-confirm')
    if (seen.status === 'gone') throw vanished(deps, removal)
    // The refresh recorded it as cancelled: the task stays visible as cancelled.
    if (seen.status === 'cancelled') return
    // The task ended before the deletion: its end is recorded and settled.
    if (outcome.ended) return removal.ended(seen.status)
    if (seen.status !== 'queued') throw running(row)
  }
  throw unavailable(row)
}

async function hide(
  deps: TaskDeps,
  { row, requestId, tokenId }: Omit<Removal, 'ended'>,
): Promise<void> {
  const { platformId, tenantId } = row
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('delete.before-hide')
  const result = await executeTaskCommand(
    deps,
    platformId,
    { kind: 'delete', tokenId, at: toTimestamp(nowMs) },
    newCommandId(nowMs),
    { correlationId: requestId, tenantId, tokenId },
  )
  deps.recent.note(tenantId, result.position)
}

function running(row: TaskRow): DomainError {
  return taskError('task_running', 'a task that is running cannot be deleted', row.platformId)
}

function hasEnded(row: TaskRow, status: string): DomainError {
  return taskError('task_ended', 'a task that has ended cannot be cancelled', row.platformId, {
    status,
  })
}

function unavailable(row: TaskRow): DomainError {
  return taskError(
    'upstream_unavailable',
    'the model service cannot confirm the deletion at the moment',
    row.platformId,
  )
}

/** Upstream may have billed a record that vanished: uncertain, never `cancelled` (P5). */
function vanished(deps: TaskDeps, { row, requestId }: Removal): DomainError {
  deps.logger.error(
    { platformId: row.platformId, requestId },
    'task vanished upstream around a deletion',
  )
  return unavailable(row)
}
