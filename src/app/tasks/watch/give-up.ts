import { toTimestamp } from '../../../kernel/clock.ts'
import { executeTaskCommand, newCommandId } from '../task-log.ts'
import type { TaskDeps } from '../deps.ts'

/**
 * Ends a submission that upstream certainly never accepted, unless it was adopted since. Returns
 * whether it has ended. @throws the log's codes; the next look finds the same proof.
 */
export async function giveUp(
  deps: TaskDeps,
  task: { readonly platformId: string; readonly tenantId: string },
  /** When the two looks that prove it began, Unix milliseconds. */
  looks: { readonly firstMs: number; readonly lastMs: number },
): Promise<boolean> {
  const { platformId, tenantId } = task
  const nowMs = deps.clock.nowMs()
  deps.crashPoint('reconcile.before-give-up')
  const { events, state } = await executeTaskCommand(
    deps,
    platformId,
    {
      kind: 'not-accepted',
      firstSeenAt: toTimestamp(looks.firstMs),
      lastSeenAt: toTimestamp(looks.lastMs),
      at: toTimestamp(nowMs),
    },
    newCommandId(nowMs),
    { correlationId: 'policy-reconcile', tenantId },
  )
  deps.crashPoint('reconcile.after-give-up')
  if (state.phase !== 'ended') return false
  if (events.length === 0) return true
  deps.metrics.ended.inc({ model: state.request.model, status: 'failed' })
  deps.logger.warn({ platformId, tenantId }, 'submission never accepted upstream: given up')
  return true
}
