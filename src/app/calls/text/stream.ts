import { ProviderError } from '../../ports.ts'
import { attempt } from '../attempts.ts'
import { admit } from '../call.ts'
import type { CallDeps } from '../deps.ts'
import { Pump } from './pump.ts'
import { refusalOf } from '../refusals.ts'
import type { StreamedCall, TextCallInput } from '../types.ts'

/** Begins a streamed call; it resolves when upstream has begun to answer. */
export async function streamCall(
  deps: CallDeps,
  input: TextCallInput,
  stopped: AbortSignal,
): Promise<{ readonly streamed: StreamedCall; readonly pump: Pump }> {
  const { call, body } = await admit(deps, input, true)
  try {
    const options = { signal: stopped, requestId: input.requestId }
    const { channel, lease, result } = await attempt(
      deps,
      call,
      body,
      (provider, channel, request) => provider.stream(channel, request, options),
    )
    const served = { channel, upstreamRequestId: result.upstreamRequestId }
    const pump = new Pump(deps, { call, served, lease, source: result })
    return { pump, streamed: { callId: call.callId, frames: framesOf(pump) } }
  } catch (error) {
    call.hold.withdraw()
    throw error instanceof ProviderError ? refusalOf(error, call.callId) : error
  }
}

/** The frames for one reader; one that stops early has gone. */
function framesOf(pump: Pump): StreamedCall['frames'] {
  const iterator: AsyncIterator<Awaited<ReturnType<Pump['next']>>['value']> = {
    next: () => pump.next(),
    return: () => {
      pump.abandon()
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
