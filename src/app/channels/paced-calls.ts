import { callUpstream, type UpstreamDeps, type UpstreamOperation } from './call-upstream.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import type { ChannelPaces } from './paces.ts'

/**
 * Runs work when the channel's pace allows it; callers and policies share the pace.
 * @throws ProviderError `unavailable` when the signal aborts the wait; what the work throws
 */
export async function runPaced<Result>(
  { paces }: { readonly paces: ChannelPaces },
  channel: Channel,
  signal: AbortSignal,
  work: () => Promise<Result>,
): Promise<Result> {
  let begun = false
  try {
    return await paces.of(channel).run(signal, () => {
      begun = true
      return work()
    })
  } catch (error) {
    if (begun) throw error
    throw new ProviderError('unavailable', 'ruled_out', 'The model service is busy.', {
      cause: error,
    })
  }
}

/** Runs one upstream call when the pace allows it. @throws ProviderError */
export function callPaced<Result>(
  deps: UpstreamDeps & { readonly paces: ChannelPaces },
  channel: Channel,
  operation: UpstreamOperation,
  signal: AbortSignal,
  call: () => Promise<Result>,
): Promise<Result> {
  return runPaced(deps, channel, signal, () => callUpstream(deps, channel, operation, call))
}
