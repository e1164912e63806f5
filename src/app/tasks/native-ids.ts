import { tasksOfOneNativeId } from '../../../projections/tasks/query.ts'
import { notAcceptedFailure } from '../../domain/task/observe.ts'
import { taskStream } from '../../domain/task/events.ts'
import type { TaskObservation } from '../ports/provider.ts'
import type { TaskDeps } from './deps.ts'

/** Bills the work behind a native id once, although upstream gave the id to several tasks. */

/** Tasks of one native id that are compared, those that were requested first. */
const MAX_COMPARED = 32

/**
 * An observed success as it counts: as a failure where an earlier task of the same account has the
 * native id, because the work and its result are the earlier task's. Undefined while the read
 * model lacks the task's own submission, and so perhaps an earlier one: it is asked again.
 * @throws the log's codes
 */
export async function successOfOwn(
  deps: TaskDeps,
  platformId: string,
  seen: TaskObservation,
): Promise<TaskObservation | undefined> {
  const { nativeId } = seen
  const sharing = await tasksOfOneNativeId(deps.pool, { platformId, nativeId, limit: MAX_COMPARED })
  const [own, ...others] = sharing
  if (own === undefined) return undefined
  const accountOf = accountsIn(deps)
  const account = accountOf(own.channelId)
  const rivals = others.filter(({ channelId }) => accountOf(channelId) === account)
  if (rivals.length === 0) return seen
  const submittedAt = await submissionOf(deps, platformId, nativeId)
  for (const rival of rivals) {
    const before = await submissionOf(deps, rival.platformId, nativeId)
    if (before === undefined || (submittedAt !== undefined && before > submittedAt)) continue
    const { channelId } = own
    deps.metrics.nativeIdsRepeated.inc({ channel: channelId })
    deps.logger.error(
      { platformId, nativeId, channelId, first: rival.platformId },
      'upstream gave the native id of another task: it fails, and is not billed',
    )
    return { ...seen, status: 'failed', error: notAcceptedFailure }
  }
  return seen
}

/** Position in the log at which a task got the native id; undefined if it has another one. */
async function submissionOf(
  { log }: TaskDeps,
  platformId: string,
  nativeId: string,
): Promise<bigint | undefined> {
  const events = await log.readStream(taskStream(platformId))
  return events.find(({ type, data }) => type === 'TaskSubmitted' && data.nativeId === nativeId)
    ?.position
}

/**
 * Channels with the same address and credential are one account; other channels count by their
 * name.
 */
function accountsIn({ channels }: TaskDeps): (channelId: string) => string {
  return (channelId) => {
    const channel = channels.byId(channelId)
    return channel === undefined ? channelId : `${channel.baseUrl}\n${channel.credential ?? ''}`
  }
}
