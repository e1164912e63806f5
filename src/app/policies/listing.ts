import { type Channel, ProviderError, type TaskProvider } from '../ports.ts'
import type { TaskDeps } from '../tasks/deps.ts'
import { callOptions, callUpstream } from '../tasks/upstream.ts'
import type { ListedTask } from './match.ts'

/** What a channel's account has made since a time, as far as it can be listed. */

const PAGE_SIZE = 100
/** Pages of one listing; a request with more made since it stays open until its deadline. */
const MAX_PAGES = 100

export interface Listing {
  readonly tasks: readonly ListedTask[]
  /** Whether everything since the asked time is in it. */
  readonly complete: boolean
}

/** Lists newest first back to `sinceMs`. An upstream that fails gives what it gave so far. */
export async function listSince(
  deps: TaskDeps,
  provider: TaskProvider,
  channel: Channel,
  sinceMs: number,
  signal: AbortSignal,
): Promise<Listing> {
  const tasks: ListedTask[] = []
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    let answer
    try {
      answer = await deps.paces
        .of(channel)
        .run(signal, () =>
          callUpstream(deps, channel, 'list', () =>
            provider.list(
              channel,
              { page, pageSize: PAGE_SIZE },
              callOptions('policy-reconcile', signal),
            ),
          ),
        )
    } catch (error) {
      const kind = error instanceof ProviderError ? error.kind : 'stopped'
      deps.logger.warn({ channelId: channel.id, page, kind }, 'listing upstream failed')
      return { tasks, complete: false }
    }
    for (const task of answer.items) tasks.push({ channel, task })
    const passed = answer.items.some(
      ({ createdAtMs }) => createdAtMs !== undefined && createdAtMs < sinceMs,
    )
    if (passed || page * PAGE_SIZE >= answer.total) return { tasks, complete: true }
  }
  return { tasks, complete: false }
}
