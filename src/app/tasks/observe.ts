import { createLru } from '../../kernel/lru.ts'
import { toTimestamp } from '../../kernel/clock.ts'
import { cacheableUrls } from './result-urls.ts'
import type { TaskObservation } from '../ports/provider.ts'
import {
  type TaskCommandContext,
  executeTaskCommand,
  newCommandId,
  logFailure,
} from './task-log.ts'
import type { TaskState } from '../../domain/task/state.ts'
import type { TaskDeps } from './deps.ts'
import { createUnknownStatuses } from './unknown-statuses.ts'
import { successOfOwn } from './native-ids.ts'

/** Tasks whose last answer this process remembers, so that a repeated answer costs nothing. */
const MAX_REMEMBERED = 100_000

const terminal: ReadonlySet<string> = new Set(['succeeded', 'failed', 'expired', 'cancelled'])

/** Whether a status is an end. */
export function isTerminal(status: string): boolean {
  return terminal.has(status)
}

interface ObserveInput {
  readonly platformId: string
  readonly tenantId: string
  readonly observation: TaskObservation
  /** The request or policy that asked. */
  readonly correlationId: string
}

export interface ObserveOutcome {
  /** The log has the task's end, from this observation or before. */
  readonly ended: boolean
  /** Position of the change in the log; undefined when nothing changed. */
  readonly position: bigint | undefined
}

const unchanged: ObserveOutcome = { ended: false, position: undefined }

export type Observe = (input: ObserveInput) => Promise<ObserveOutcome>

/** Builds the path. @throws the log's codes; the poller asks upstream again then. */
export function createObserve(deps: TaskDeps): Observe {
  const lastWords = createLru<string, string>(MAX_REMEMBERED)
  const noteStatus = createUnknownStatuses(deps.metrics, deps.clock)

  return async ({ platformId, tenantId, observation: seen, correlationId }) => {
    noteStatus(platformId, seen)
    const word = `${seen.status} ${seen.upstreamStatus}`
    const says = !isTerminal(seen.status)
    // Every task begins as queued, and a recorded answer leads to no event again.
    if (says && (seen.status === 'queued' || lastWords.get(platformId) === word)) return unchanged
    const observation =
      seen.status === 'succeeded' ? await successOfOwn(deps, platformId, seen) : seen
    if (observation === undefined) return unchanged
    const nowMs = deps.clock.nowMs()
    const context: TaskCommandContext = { correlationId, tenantId }
    deps.crashPoint('observe.before-append')
    const result = await executeTaskCommand(
      deps,
      platformId,
      { kind: 'observe', observation, at: toTimestamp(nowMs) },
      newCommandId(nowMs),
      context,
      deps.known.get(platformId),
    )
    deps.crashPoint('observe.after-append')
    const { state, events, revision, position } = result
    const ended = state.phase === 'ended'
    if (ended) lastWords.delete(platformId)
    else lastWords.set(platformId, word)
    if (state.phase === 'active' && revision !== undefined)
      deps.known.set(platformId, { state, revision })
    else deps.known.delete(platformId)
    if (!ended && observation.status === 'succeeded')
      for (const { type, data } of events)
        if (type === 'TaskStatusChanged')
          deps.metrics.successesWithheld.inc({ why: data.reported ? 'ceiling' : 'missing' })
    for (const { type, data } of events)
      if (type === 'TaskSucceeded') countDifferences(deps, state, data.output)
    if (ended && events.length > 0) {
      deps.metrics.ended.inc({ model: state.request.model, status: state.status })
      deps.recent.note(tenantId, position)
    }
    if (ended && state.status === 'succeeded')
      await logFailure(deps, platformId, rememberUrls(deps, platformId, observation))
    return { ended, position }
  }
}

/**
 * Settings that change the cost of a result; upstream may render with others, because a prompt can
 * request them.
 */
const PRICED_SETTINGS = ['resolution', 'duration'] as const
/** A setting that upstream was to choose by itself. */
const CHOSEN_UPSTREAM: ReadonlySet<unknown> = new Set([undefined, null, -1, 'adaptive'])

/** Counts a result that is other than was asked for; its lines follow the request and the usage. */
function countDifferences(
  { metrics }: Pick<TaskDeps, 'metrics'>,
  state: TaskState,
  output: TaskObservation['output'],
): void {
  if (state.phase === 'none') return
  const { family, facts } = state.request
  for (const what of PRICED_SETTINGS) {
    const [asked, rendered] = [facts.settings[what], output[what]]
    if (CHOSEN_UPSTREAM.has(asked) || rendered === undefined || rendered === null) continue
    if (String(asked).toLowerCase() !== String(rendered).toLowerCase())
      metrics.renderedOtherwise.inc({ family, what })
  }
}

/** Caches result URLs until they expire; without any, it caches their absence. */
export async function rememberUrls(
  deps: Pick<TaskDeps, 'putTaskUrls' | 'clock'>,
  platformId: string,
  observation: TaskObservation,
): Promise<Readonly<Record<string, string>>> {
  const cached = cacheableUrls(observation.urls, {
    nowMs: deps.clock.nowMs(),
    renderedAtMs: observation.updatedAtMs,
  })
  await deps.putTaskUrls(platformId, cached)
  return cached.urls
}
