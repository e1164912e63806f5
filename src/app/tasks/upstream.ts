import { monotonicClock } from '../../kernel/clock.ts'
import { invariant } from '../../kernel/assert.ts'
import { type CallOptions, type Channel, ProviderError, type TaskProvider } from '../ports.ts'
import type { TaskDeps } from './deps.ts'

/** A caller's query of one task may take this long upstream; then it gets what is known. */
export const REFRESH_TIMEOUT_MS = 5_000

/** The adapter of a family. */
export function providerOf(deps: Pick<TaskDeps, 'providers'>, family: string): TaskProvider {
  const provider = deps.providers.get(family)
  invariant(provider, `every family has a provider: ${family}`)
  return provider
}

/** What a failure that is not a provider error means: ours, so nothing is ruled out. */
function asProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error
  return new ProviderError('malformed', 'unknown', 'The model service call failed.', {
    cause: error,
  })
}

type Operation = 'create' | 'get' | 'list' | 'cancel'

/** Runs one upstream call and counts it. @throws ProviderError */
export async function callUpstream<Result>(
  deps: Pick<TaskDeps, 'metrics'>,
  channel: Channel,
  operation: Operation,
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
