import { ProviderError } from '../../ports.ts'
import { admit } from '../admit.ts'
import { attempt } from '../attempt.ts'
import type { TextDeps } from './deps.ts'
import { providerOf, requestAt, type TextCallFamily } from './family.ts'
import { Pump } from './pump.ts'
import type { StreamedCall, TextCallInput } from './types.ts'

/** Begins a streamed call; it resolves when upstream has begun to answer. */
export async function streamCall(
  deps: TextDeps,
  family: TextCallFamily,
  input: TextCallInput,
  stopped: AbortSignal,
): Promise<{ readonly streamed: StreamedCall; readonly pump: Pump }> {
  const { call, request } = await admit(deps, input, true, family.resolve)
  const options = { signal: stopped, requestId: input.requestId }
  try {
    const provider = providerOf(deps, input)
    const { channel, lease, result } = await attempt(deps, call, (asked) =>
      provider.stream(asked, requestAt(deps, input, asked, request), options),
    )
    const served = { channel, upstreamRequestId: result.upstreamRequestId }
    const pump = new Pump(deps, { call, served, lease, source: result })
    return { pump, streamed: { callId: call.callId, frames: framesOf(pump) } }
  } catch (error) {
    call.hold.withdraw()
    throw error instanceof ProviderError ? family.refusal(error, call.callId) : error
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
