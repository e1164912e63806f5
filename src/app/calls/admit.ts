import type { CallTerms } from '../../domain/families/call-rules.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newCallId } from '../../kernel/ids.ts'
import { parseAmount } from '../../kernel/money.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { Channel } from '../ports.ts'
import type { Hold } from '../spending/tenant-funds.ts'
import type { Taken } from '../throttle/token-use.ts'
import type { CallDeps } from './deps.ts'
import type { ResolvedCall } from './family.ts'
import type { CallInput } from './types.ts'

/** A call that was admitted: priced, its hold placed, nothing sent yet. */
export interface AdmittedCall<Seen> {
  readonly callId: string
  /** Nothing of the request itself: a stream outlives what began it, and that may be large. */
  readonly input: CallInput
  /** Which channels may serve it. */
  readonly wish: ChannelWish
  readonly streamed: boolean
  readonly startedAtMs: number
  readonly terms: CallTerms<Seen>
  /** Its end is the end of what was taken of the token's limits as well. */
  readonly hold: Hold
  /** Of the token's limits; undefined where it has none. */
  readonly taken: Taken | undefined
}

/**
 * Everything that can be refused before anything is sent; with the request to send.
 *
 * @throws DomainError `model_not_allowed`, `unknown_model`, `log_unavailable`, `rate_limited`,
 *   `price_not_configured`, `insufficient_balance`, and those of the family's `resolve`
 */
export async function admit<Input extends CallInput, Request, Seen>(
  deps: CallDeps,
  input: Input,
  streamed: boolean,
  resolve: (input: Input, serving: readonly Channel[]) => ResolvedCall<Request, Seen>,
): Promise<{ readonly call: AdmittedCall<Seen>; readonly request: Request }> {
  const { principal, family, model } = input
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
  const serving = deps.channels.serving({ family, model })
  if (serving.length === 0)
    throw new DomainError('unknown_model', `the model ${model} does not exist here`, { model })
  const { request, wish, expectedTokens, price } = resolve(input, serving)
  if (!deps.log.healthy()) await deps.log.ready()
  const taken = deps.rates.take(principal, expectedTokens)
  try {
    const terms = price(await deps.prices.current())
    const held = await holdFor(deps, principal.tenantId, terms)
    const hold = taken === undefined ? held : endingBoth(held, taken)
    const startedAtMs = deps.clock.nowMs()
    const callId = newCallId(startedAtMs)
    const kept = keptOf(input)
    return {
      call: { callId, input: kept, wish, streamed, startedAtMs, terms, hold, taken },
      request,
    }
  } catch (error) {
    taken?.giveBack()
    throw error
  }
}

/** @throws DomainError of `Funds.hold`, a balance too small with what would fit it */
async function holdFor<Seen>(
  { funds }: Pick<CallDeps, 'funds'>,
  tenantId: string,
  { currency, holdPico, fitting }: CallTerms<Seen>,
): Promise<Hold> {
  try {
    return await funds.hold(tenantId, currency, holdPico)
  } catch (error) {
    if (!isDomainError(error, 'insufficient_balance')) throw error
    const smaller = fitting?.(parseAmount(String(error.details['available'])))
    if (smaller === undefined) throw error
    const message = `${error.message}; with ${smaller} it would fit`
    throw new DomainError('insufficient_balance', message, error.details)
  }
}

function keptOf({
  principal,
  family,
  surface,
  requestId,
  model,
  callerGone,
}: CallInput): CallInput {
  return { principal, family, surface, requestId, model, callerGone }
}

/** A call that ends without a settlement used none of the tokens that were expected of it. */
function endingBoth(held: Hold, taken: Taken): Hold {
  return {
    settle: held.settle,
    withdraw: () => {
      held.withdraw()
      taken.settle(0)
    },
  }
}
