import { noteObservations, type TaskRow } from '../../../projections/tasks/query.ts'
import { createSingleFlight } from '../../platform/single-flight.ts'
import {
  type Channel,
  ProviderError,
  type TaskGone,
  type TaskObservation,
} from '../ports/provider.ts'
import type { TaskDeps } from './deps.ts'
import { type Observe, type ObserveOutcome, rememberUrls } from './observe.ts'
import { logFailure } from './task-log.ts'
import { callOptions, callUpstream, REFRESH_TIMEOUT_MS } from '../channels/call-upstream.ts'
import { runPaced } from '../channels/paced-calls.ts'
import { providerOf } from './submit.ts'

export interface RefreshResult {
  readonly seen: TaskObservation | TaskGone
  readonly outcome: ObserveOutcome
}

export interface Refresher {
  /**
   * Queries and records, shared with concurrent requests for the same task. Undefined when the
   * channel is at its limit of queries or is no longer configured.
   * @throws ProviderError, the log's codes
   */
  readonly ifFree: (row: TaskRow, requestId: string) => Promise<RefreshResult | undefined>
  /** Waits for its turn and is never shared: for callers that need the present state. */
  readonly now: (row: TaskRow, requestId: string) => Promise<RefreshResult>
  /** Fresh result URLs of a succeeded task; undefined when upstream cannot be queried. */
  readonly urls: (
    row: TaskRow,
    requestId: string,
  ) => Promise<Readonly<Record<string, string>> | undefined>
}

export function createRefresher(deps: TaskDeps, observe: Observe): Refresher {
  const refreshes = createSingleFlight<RefreshResult | undefined>()
  const urlQueries = createSingleFlight<Readonly<Record<string, string>> | undefined>()
  return {
    ifFree: (row, requestId) => {
      const query = queryOf(deps, row, requestId)
      if (query === undefined) return Promise.resolve(undefined)
      return refreshes.run(row.platformId, async () =>
        deps.paces.of(query.channel).tryRun(() => askAndRecord(deps, observe, query)),
      )
    },
    now: async (row, requestId) => {
      const query = queryOf(deps, row, requestId)
      if (query === undefined)
        throw new ProviderError(
          'unavailable',
          'ruled_out',
          'The provider cannot be asked about the task.',
        )
      return runPaced(deps, query.channel, patience(), () => askAndRecord(deps, observe, query))
    },
    urls: (row, requestId) => {
      const query = queryOf(deps, row, requestId)
      if (query === undefined) return Promise.resolve(undefined)
      return urlQueries.run(row.platformId, async () => {
        const seen = await runPaced(deps, query.channel, patience(), () => ask(deps, query))
        return rememberUrls(deps, row.platformId, withoutEnd(seen))
      })
    },
  }
}

/** Queries upstream once about a task. */
interface Query {
  readonly row: TaskRow
  readonly channel: Channel
  readonly nativeId: string
  readonly requestId: string
}

/** Undefined for a task that cannot be queried upstream. */
function queryOf(
  { channels }: Pick<TaskDeps, 'channels'>,
  row: TaskRow,
  requestId: string,
): Query | undefined {
  const { nativeId } = row
  const channel = channels.byId(row.channelId)
  if (channel === undefined || nativeId === null) return undefined
  return { row, channel, nativeId, requestId }
}

function ask(
  deps: TaskDeps,
  { channel, row, nativeId, requestId }: Query,
): Promise<TaskObservation | TaskGone> {
  return callUpstream(deps, channel, 'get', () =>
    providerOf(deps, row.family).get(
      channel,
      nativeId,
      callOptions(requestId, AbortSignal.timeout(REFRESH_TIMEOUT_MS)),
    ),
  )
}

async function askAndRecord(
  deps: TaskDeps,
  observe: Observe,
  query: Query,
): Promise<RefreshResult> {
  const seen = await ask(deps, query)
  const { platformId, tenantId } = query.row
  if (seen.status === 'gone') {
    await noteSeen(deps, platformId)
    return { seen, outcome: { ended: false, position: undefined } }
  }
  const outcome = await observe({
    platformId,
    tenantId,
    observation: seen,
    correlationId: query.requestId,
  })
  await noteSeen(deps, platformId)
  return { seen, outcome }
}

/** An answer that the task does not exist counts as an answer. */
function noteSeen(deps: TaskDeps, platformId: string): Promise<unknown> {
  return logFailure(
    deps,
    platformId,
    noteObservations(deps.pool, [{ platformId, observedAtMs: deps.clock.nowMs() }]),
  )
}

/** A request waits for its turn no longer than a query may take. */
export function patience(): AbortSignal {
  return AbortSignal.timeout(REFRESH_TIMEOUT_MS)
}

/** A record that is gone has no URLs; that is cached like an expired one. */
function withoutEnd(seen: TaskObservation | TaskGone): TaskObservation {
  return seen.status === 'gone'
    ? { nativeId: seen.nativeId, status: 'unknown', upstreamStatus: 'gone', output: {} }
    : seen
}
