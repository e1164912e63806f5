import { fromTimestamp, toTimestamp } from '../../../kernel/clock.ts'
import { executeTaskCommand, loadTask, newCommandId } from '../task-log.ts'
import { expireTask } from '../watch/expire.ts'
import { createTaskLeases, type DuePoll, type RescheduledPoll } from '../watch/task-work.ts'
import { createRound } from '../../queue/leases.ts'
import type { WorkerSettings } from '../../queue/worker.ts'
import type { ImageTaskDeps } from './deps.ts'
import { deletePayload } from './end.ts'

const LEASE_LIMIT = 100
const LEASE_MS = 60_000
const PUT_OFF_MS = 5_000
const FINISHER = 'policy-finish-images'

/**
 * One round over due tasks: at their deadline, or as soon as their worker has died. A worker that
 * was only suspended ends its task until the deadline. `making` are the tasks this process makes
 * itself: their rows have the same kind once begun.
 */
export function createFinishRound(
  deps: ImageTaskDeps,
  { owner, scale }: WorkerSettings,
  making: () => Iterable<string>,
) {
  const again = ({ platformId }: DuePoll, dueAtMs?: number): RescheduledPoll => ({
    id: platformId,
    dueAtMs: dueAtMs ?? deps.clock.nowMs() + PUT_OFF_MS * scale,
  })
  return createRound({
    leases: createTaskLeases(deps, {
      owner,
      lane: 'finish',
      leaseMs: LEASE_MS,
      otherIds: making,
    }),
    query: () => ({ nowMs: deps.clock.nowMs(), limit: LEASE_LIMIT }),
    work: async (due) => ({
      again: await Promise.all(due.map(async (poll) => again(poll, await finishOrSay(deps, poll)))),
    }),
    putOff: (poll) => again(poll),
  })
}

/** Time of the next round; undefined for soon. */
async function finishOrSay(deps: ImageTaskDeps, poll: DuePoll): Promise<number | undefined> {
  try {
    return await finish(deps, poll)
  } catch (error) {
    deps.logger.warn({ platformId: poll.platformId, err: error }, 'end not recorded: tried again')
    return undefined
  }
}

async function finish(deps: ImageTaskDeps, poll: DuePoll): Promise<number | undefined> {
  const { platformId, tenantId } = poll
  const state = await loadTask(deps.log, platformId)
  // The task has ended, which the read model does not have yet.
  if (state.phase !== 'started' && state.phase !== 'uncertain') return undefined
  const nowMs = deps.clock.nowMs()
  const expiresAtMs = fromTimestamp(state.request.expiresAt)
  if (nowMs >= expiresAtMs) {
    await expireTask(deps, { platformId, tenantId, nativeId: null }, FINISHER)
    await deletePayload(deps, state.request)
    return undefined
  }
  if (state.phase === 'started') {
    await executeTaskCommand(
      deps,
      platformId,
      { kind: 'uncertain', reason: 'worker_died', at: toTimestamp(nowMs) },
      newCommandId(nowMs),
      { correlationId: FINISHER, tenantId },
    )
    await deletePayload(deps, state.request)
  }
  return expiresAtMs
}
