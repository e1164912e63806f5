import type { Channel } from '../ports/provider.ts'
import { admit, endFailed } from './answer-call.ts'
import { attemptCall } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import type { CallFamily, CallInput, StreamedCall, StreamFamily } from './family.ts'
import { Pump, type PumpedTally } from './pump.ts'
import type { PumpedChunk } from './stream-ends.ts'

/** A streamed call whose answer has begun. */
interface BegunStream<Seen extends PumpedTally, Chunk extends PumpedChunk, Frame> {
  readonly streamed: StreamedCall<Frame>
  readonly pump: Pump<Chunk, Seen, Frame>
  /** The channel that answers. */
  readonly channel: Channel
}

type Streaming<Input extends CallInput, Request, Seen, Chunk, Frame> = Pick<
  CallFamily<Input, Request, Seen, unknown>,
  'resolve' | 'prepare' | 'refusal'
> &
  StreamFamily<Input, Request, Seen, Chunk, Frame>

/** Begins a streamed call of any family; it resolves when upstream has begun to answer. */
export async function streamCall<
  Input extends CallInput,
  Request,
  Seen extends PumpedTally,
  Chunk extends PumpedChunk,
  Frame,
>(
  deps: CallDeps,
  family: Streaming<Input, Request, Seen, Chunk, Frame>,
  input: Input,
  stopped: AbortSignal,
): Promise<BegunStream<Seen, Chunk, Frame>> {
  const { call, request } = await admit(deps, family, input, true)
  const { callId } = call
  const options = { signal: stopped, requestId: input.requestId, callId }
  let free: (() => void) | undefined
  try {
    free = await family.prepare?.(request, options)
    const { channel, lease, result, attempts } = await attemptCall(deps, call, (asked) =>
      family.open(input, asked, request, options),
    )
    const pump = new Pump(deps, {
      call,
      served: {
        channel,
        attempts,
        // The provider's id may be known from the first frame only.
        get upstreamRequestId() {
          return result.upstreamRequestId
        },
      },
      lease,
      source: result,
      bounds: { ...deps.limits, ...family.boundsOf?.(channel, request) },
      frameOf: family.frameOf,
      refusal: family.refusal,
    })
    const streamed = {
      callId,
      frames: framesOf(pump),
      settlement: () => pump.settlement(),
    }
    return { pump, channel, streamed }
  } catch (error) {
    throw await endFailed(family, call, error)
  } finally {
    free?.()
  }
}

/** The frames for one reader; a reader that stops early has disconnected. */
function framesOf<Chunk extends PumpedChunk, Seen extends PumpedTally, Frame>(
  pump: Pump<Chunk, Seen, Frame>,
): AsyncIterable<Frame> {
  const iterator: AsyncIterator<Frame, undefined> = {
    next: () => pump.next(),
    return: () => {
      pump.abandon()
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
