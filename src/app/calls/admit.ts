import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newCallId } from '../../kernel/ids.ts'
import { parseAmount } from '../../kernel/money.ts'
import type { CallClaim } from './claims/types.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { Channel } from '../ports/provider.ts'
import { endingAll, type Hold } from '../spending/tenant-funds.ts'
import type { Taken } from '../spending/throttle/rates.ts'
import type { CallDeps } from './deps.ts'
import type { CallFamily, ResolvedCall } from './family.ts'
import type { CallInput, Claimed, Unmade } from './types.ts'

/** A call that was admitted: priced, its hold placed, nothing sent yet. */
export interface AdmittedCall<Seen> {
  readonly callId: string
  /** Nothing of the request itself: a stream outlives what began it, and that may be large. */
  readonly input: CallInput
  /** Of a call under an `Idempotency-Key`. */
  readonly claim: CallClaim | undefined
  /** Which channels may serve it. */
  readonly wish: ChannelWish
  readonly streamed: boolean
  readonly startedAtMs: number
  readonly terms: CallTerms<Seen>
  /** Its end is the end of what was taken of the caller's limits as well. */
  readonly hold: Hold
  /** Of the caller's limits; undefined where it has none. */
  readonly taken: Taken | undefined
}

/**
 * What a call needs, of a model that its token may use and that is served here.
 * @throws DomainError `model_not_allowed`, `unknown_model`, and those of the family's `resolve`
 */
export function resolveOffered<Request, Seen>(
  { channels }: Pick<CallDeps, 'channels'>,
  input: Unmade<CallInput>,
  resolve: (serving: readonly Channel[]) => ResolvedCall<Request, Seen>,
): ResolvedCall<Request, Seen> {
  const { family, model } = input
  checkMayUse(input)
  const serving = channels.serving({ family, model })
  if (serving.length === 0)
    throw new DomainError('unknown_model', `the model ${model} does not exist here`, { model })
  return resolve(serving)
}

/**
 * Everything that can be refused before anything is sent; with the request to send.
 *
 * @throws DomainError `model_not_allowed`, `unknown_model`, `log_unavailable`, `rate_limited`,
 *   `price_not_configured`, `insufficient_balance`, `budget_reached`, and those of the family's `resolve`
 */
export async function admit<Input extends CallInput, Request, Seen>(
  deps: CallDeps,
  input: Claimed<Input>,
  streamed: boolean,
  resolve: CallFamily<Input, Request, Seen, unknown>['resolve'],
): Promise<{ readonly call: AdmittedCall<Seen>; readonly request: Request }> {
  const { principal, claim } = input
  const { request, wish, expectedTokens, price } = resolveOffered(deps, input, (serving) =>
    resolve(input, serving),
  )
  if (!deps.log.healthy()) await deps.log.ready()
  const taken = await deps.throttle.call(principal, expectedTokens)
  try {
    const terms = price(await deps.prices.of(principal.tenantId))
    const held = await holdFor(deps, principal, terms)
    const hold = taken === undefined ? held : endingBoth(held, taken)
    const startedAtMs = deps.clock.nowMs()
    const callId = claim?.callId ?? newCallId(startedAtMs)
    const kept = keptOf(input)
    return {
      call: { callId, input: kept, claim, wish, streamed, startedAtMs, terms, hold, taken },
      request,
    }
  } catch (error) {
    taken?.giveBack()
    throw error
  }
}

/** @throws DomainError of `Budgets.hold` and `Funds.hold`, where too little is left with what would fit it */
async function holdFor<Seen>(
  { funds, budgets }: Pick<CallDeps, 'funds' | 'budgets'>,
  principal: CallInput['principal'],
  { currency, holdPico, fitting }: CallTerms<Seen>,
): Promise<Hold> {
  try {
    const budgeted = await budgets.hold(principal, currency, holdPico)
    try {
      const held = await funds.hold(principal.tenantId, currency, holdPico)
      return budgeted === undefined ? held : endingAll([held, budgeted])
    } catch (error) {
      budgeted?.withdraw()
      throw error
    }
  } catch (error) {
    if (!isDomainError(error, 'insufficient_balance') && !isDomainError(error, 'budget_reached'))
      throw error
    const smaller = fitting?.(parseAmount(String(error.details['available'])))
    if (smaller === undefined) throw error
    const message = `${error.message}; with ${smaller} it would fit`
    throw new DomainError(error.code, message, error.details)
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

/** @throws DomainError `model_not_allowed` */
export function checkMayUse({ principal, model }: Pick<CallInput, 'principal' | 'model'>): void {
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
}
