import { monotonicClock } from '../../kernel/clock.ts'
import type { TaskMetrics } from '../metrics.ts'
import { type CallOptions, type Channel, ProviderError } from '../ports/provider.ts'

/** Timeout of a caller's query of one object upstream; then the caller gets the record. */
export const REFRESH_TIMEOUT_MS = 5_000

/** Converts an error of the gateway's code: it is unknown whether upstream accepted the call. */
function asProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  return new ProviderError('malformed', 'unknown', 'The model service call failed.', {
    cause: error,
    endedByGateway: true,
  })
}

export type UpstreamOperation = 'create' | 'get' | 'list' | 'cancel' | 'delete' | 'verify'

/** Counter of the calls. */
export interface UpstreamDeps {
  readonly metrics: Pick<TaskMetrics, 'upstreamCalls' | 'upstreamSeconds'>
}

/** Runs one upstream call and counts it. @throws ProviderError */
export async function callUpstream<Result>(
  deps: UpstreamDeps,
  channel: Channel,
  operation: UpstreamOperation,
  call: () => Promise<Result>,
): Promise<Result> {
  const { upstreamCalls, upstreamSeconds } = deps.metrics
  const startedMs = monotonicClock.nowMs()
  const labels = { channel: channel.id, operation }
  try {
    const result = await call()
    upstreamCalls.inc({ ...labels, outcome: 'ok' })
    return result
  } catch (error) {
    const failure = asProviderError(error)
    upstreamCalls.inc({ ...labels, outcome: failure.kind })
    throw failure
  } finally {
    upstreamSeconds.observe(labels, (monotonicClock.nowMs() - startedMs) / 1_000)
  }
}

/** Options of a call that ends by its own timeout or with the signal. */
export function callOptions(
  requestId: string,
  signal: AbortSignal = new AbortController().signal,
): CallOptions {
  return { signal, requestId }
}
