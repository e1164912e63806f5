import {
  type Channel,
  ProviderError,
  type TaskGone,
  type TaskObservation,
} from '../../ports/provider.ts'
import { callOptions, callUpstream } from '../../channels/call-upstream.ts'
import type { TaskDeps } from '../deps.ts'
import { providerOf } from '../submit.ts'
import type { DuePoll } from './task-work.ts'

/** The result of asking upstream for a task. */
export type PollAnswer = TaskObservation | TaskGone | ProviderError

/** Answers by native id: from one list where that works, then one query for each task left open. */
export async function askAll(
  deps: TaskDeps,
  channel: Channel,
  tasks: readonly DuePoll[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PollAnswer>> {
  const [first] = tasks
  const nativeIds = tasks.flatMap((task) => task.nativeId ?? [])
  if (first === undefined) return new Map()
  const provider = providerOf(deps, first.family)
  const pace = deps.paces.of(channel)
  const options = callOptions('policy-poll', signal)
  const answers = new Map<string, PollAnswer>()
  if (nativeIds.length > 1 && provider.maxListIds > 0) {
    const listed = await pace
      .run(signal, () =>
        callUpstream(deps, channel, 'list', () => provider.list(channel, { nativeIds }, options)),
      )
      .catch(askFailureOf)
    if (listed instanceof ProviderError && listed.kind !== 'malformed')
      return new Map(nativeIds.map((id) => [id, listed]))
    if (!(listed instanceof ProviderError))
      for (const item of listed.items) if (saysAll(item)) answers.set(item.nativeId, item)
  }
  // A task missing from a list may still exist: only its own query shows that.
  await Promise.all(
    nativeIds
      .filter((id) => !answers.has(id))
      .map(async (id) => {
        const seen = await pace
          .run(signal, () =>
            callUpstream(deps, channel, 'get', () => provider.get(channel, id, options)),
          )
          .catch(askFailureOf)
        if (!signal.aborted) answers.set(id, seen)
      }),
  )
  return answers
}

/** A list may leave out the usage of a success, which its own query returns. */
function saysAll({ status, usage }: TaskObservation): boolean {
  return status !== 'succeeded' || usage !== undefined
}

/** A failure as the result for a task. */
export function askFailureOf(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  return new ProviderError('unavailable', 'ruled_out', 'The query was not made.', { cause: error })
}
