import { latestEndMs } from '../../../domain/catalog/latest-end.ts'
import { toTimestamp } from '../../../kernel/clock.ts'
import { executeTaskCommand, newCommandId } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'

/** Ends tasks whose end the gateway never saw. */

export type LastAnswer =
  /** Upstream does not have the task, or its complete list does not show it. */
  | 'absent'
  /** Upstream still works on it. */
  | 'open'
  /** Upstream could not be queried. */
  | 'unreachable'

/**
 * Whether to give up a task past its deadline. If upstream still works on it or is unavailable, the
 * gateway waits up to the family's longest expiry: giving up early would lose its settlement. The
 * time is that of the query: a process that was suspended since then has no newer knowledge.
 */
export function mayExpire(
  { catalog }: Pick<TaskDeps, 'catalog'>,
  task: {
    readonly family: string
    readonly requestedAtMs: number
    readonly expiresAtMs: number
  },
  last: LastAnswer,
  askedMs: number,
): boolean {
  if (askedMs < task.expiresAtMs) return false
  return last === 'absent' || askedMs >= latestEndMs(catalog.taskFamily(task.family), task)
}

/**
 * Ends a task at its deadline and reports a possible cost leak, unless it was submitted or adopted
 * since its lease. Returns whether it has ended.
 */
export async function expireTask(
  deps: TaskDeps,
  task: {
    readonly platformId: string
    readonly tenantId: string
    /** The id in the query; null when the search had no id. */
    readonly nativeId: string | null
  },
  correlationId: string,
): Promise<boolean> {
  const { platformId, tenantId, nativeId } = task
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('expire.before-append')
  const { events, state } = await executeTaskCommand(
    deps,
    platformId,
    { kind: 'expire', nativeId: nativeId ?? undefined, at: toTimestamp(nowMs) },
    newCommandId(nowMs),
    { correlationId, tenantId },
  )
  if (state.phase !== 'ended') return false
  if (events.length === 0) return true
  deps.metrics.possibleCostLeaks.inc()
  deps.metrics.ended.inc({ model: state.request.model, status: 'expired' })
  deps.logger.error({ platformId, tenantId }, 'task expired unseen: upstream may bill it')
  return true
}
