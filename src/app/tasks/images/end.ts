import type { TaskCommand, TaskRequest, TaskState } from '../../../domain/task/state.ts'
import { sharerOf } from '../../../domain/token/sharer.ts'
import { executeTaskCommand, newCommandId, logFailure } from '../task-log.ts'
import type { ImageTaskDeps } from './deps.ts'
import { removePayload } from './payload.ts'

/** The known state of a task's stream in this process. */
export interface KnownImageTask {
  readonly state: Extract<TaskState, { readonly phase: 'requested' | 'started' }>
  readonly revision: bigint
}

/**
 * Appends the end of a task, and deletes its request: it is never sent again. While the log is
 * unavailable, it retries in the background, until the task's deadline at most.
 */
export async function recordEnd(
  deps: ImageTaskDeps,
  known: KnownImageTask,
  command: TaskCommand,
  correlationId: string,
): Promise<void> {
  const { request } = known.state
  const { platformId, tenantId } = request
  const commandId = newCommandId(deps.clock.nowMs())
  const append = async (): Promise<void> => {
    const context = { correlationId, tenantId }
    const { events, state, position } = await executeTaskCommand(
      deps,
      platformId,
      command,
      commandId,
      context,
      known,
    )
    deps.crashPoint('image.after-end')
    deps.recent.note(tenantId, position)
    if (events.length > 0 && state.phase === 'ended') {
      deps.metrics.ended.inc({ model: request.model, status: state.status })
      if (events.some(({ type, data }) => type === 'TaskFailed' && data.possibleCostLeak))
        reportLeak(deps, request)
    }
    await deletePayload(deps, request)
  }
  try {
    await append()
  } catch (error) {
    deps.logger.warn({ platformId, command: command.kind, err: error }, 'end not recorded yet')
    deps.background.keepTrying(command.kind, platformId, append)
  }
}

function reportLeak(deps: ImageTaskDeps, request: TaskRequest): void {
  const { platformId, tenantId } = request
  deps.metrics.possibleCostLeaks.inc()
  deps.throttle.absorbed.add(sharerOf({ ...request, kind: 'model' }), request.quote.hold)
  deps.logger.error(
    { platformId, tenantId },
    'images made and not delivered: upstream may bill them',
  )
}

/** The purge deletes remaining objects. */
export async function deletePayload(deps: ImageTaskDeps, request: TaskRequest): Promise<void> {
  if (deps.media !== undefined)
    await logFailure(
      deps,
      request.platformId,
      removePayload({ ...deps, media: deps.media }, request),
    )
}
