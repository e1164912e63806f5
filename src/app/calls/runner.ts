import { formatAmount } from '../../kernel/money.ts'
import type { Channel } from '../ports/provider.ts'
import type { RequestQuote } from '../finance/prices/request-quote.ts'
import { resolveOffered } from './answer-call.ts'
import type { CallDeps } from './deps.ts'
import type { CallFamily, StreamFamily } from './family.ts'
import type { PumpedChunk, PumpedTally } from './pump.ts'
import type { RunningCalls } from './running.ts'
import { streamCall } from './stream.ts'
import type { CallInput, CompletedCall, StreamedCall, Unmade } from './types.ts'
import { completeCall } from './whole.ts'

/** Runs, streams and prices calls of any family. */
export interface CallRunner {
  /** A whole answer, settled before it is here. */
  readonly complete: <Input extends CallInput, Request, Seen, Body>(
    family: CallFamily<Input, Request, Seen, Body>,
    input: Input,
  ) => Promise<CompletedCall<Body>>
  /** Resolves when upstream has begun to answer; `channel` is where. */
  readonly stream: <
    Input extends CallInput,
    Request,
    Seen extends PumpedTally,
    Chunk extends PumpedChunk,
    Frame,
  >(
    family: Pick<
      CallFamily<Input, Request, Seen, unknown>,
      'ready' | 'resolve' | 'prepare' | 'refusal'
    > &
      StreamFamily<Input, Request, Seen, Chunk, Frame>,
    input: Input,
  ) => Promise<StreamedCall<Frame> & { readonly channel: Channel }>
  /** What a call would hold and may be settled at; nothing is held, taken or sent. */
  readonly quote: <Input extends CallInput, Request, Seen>(
    family: Pick<CallFamily<Input, Request, Seen, unknown>, 'ready' | 'resolve'>,
    input: Unmade<Input> & Unmade<CallInput>,
  ) => Promise<RequestQuote>
}

export function createCallRunner(deps: CallDeps, running: RunningCalls): CallRunner {
  return {
    complete: (family, input) =>
      running.run(input.family, async (stopped) =>
        completeCall(deps, family, await readyIn(family, input), stopped),
      ),
    stream: (family, input) =>
      running.run(input.family, async (stopped) => {
        const { streamed, pump, channel } = await streamCall(
          deps,
          family,
          await readyIn(family, input),
          stopped,
        )
        running.watch(pump)
        return { ...streamed, channel }
      }),
    quote: async (family, input) => quoteCall(deps, family, await readyIn(family, input)),
  }
}

async function readyIn<Input extends CallInput, Asked extends Unmade<Input>>(
  { ready }: Pick<CallFamily<Input, never, never, unknown>, 'ready'>,
  input: Asked,
): Promise<Asked> {
  return ready === undefined ? input : ready(input)
}

/**
 * What a call would hold and may be settled at, by the rules by which it would be admitted. Nothing is
 * held, taken or sent. @throws as `admit`, but for balances, limits and the log
 */
export async function quoteCall<Input extends CallInput, Request, Seen>(
  deps: Pick<CallDeps, 'channels' | 'prices'>,
  { resolve }: Pick<CallFamily<Input, Request, Seen, unknown>, 'resolve'>,
  input: Unmade<Input> & Unmade<CallInput>,
): Promise<RequestQuote> {
  const { price } = resolveOffered(deps, input, (serving) => resolve(input, serving))
  const { priceBookVersion, currency, holdPico, candidates } = price(
    await deps.prices.of(input.principal.tenantId),
  )
  return { priceBookVersion, currency, hold: formatAmount(holdPico), candidates }
}
