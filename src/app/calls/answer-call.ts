import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newCallId } from '../../kernel/ids.ts'
import { parseAmount } from '../../kernel/money.ts'
import type { CallClaim } from './claims/types.ts'
import type { ChannelWish } from '../channels/directory.ts'
import type { Channel } from '../ports/provider.ts'
import { createReservations, type Reservation } from '../spending/reservation.ts'
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
  /** All that was reserved for it: requests, tokens, a place, budgets and funds. */
  readonly held: Reservation
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
  const held = createReservations()
  try {
    held.add(await deps.throttle.call(principal, expectedTokens))
    const terms = price(await deps.prices.of(principal.tenantId))
    await orSmaller(terms, async ({ currency, holdPico }) => {
      held.add(await deps.budgets.reserve(principal, currency, holdPico))
      held.add(await deps.funds.reserve(principal.tenantId, currency, holdPico))
    })
    const startedAtMs = deps.clock.nowMs()
    const callId = claim?.callId ?? newCallId(startedAtMs)
    const kept = keptOf(input)
    return {
      call: { callId, input: kept, claim, wish, streamed, startedAtMs, terms, held },
      request,
    }
  } catch (error) {
    held.release('not_started')
    throw error
  }
}

/** Where too little is left for it, the refusal says what would fit. @throws what `reserve` throws */
async function orSmaller<Seen>(
  terms: CallTerms<Seen>,
  reserve: (terms: CallTerms<Seen>) => Promise<void>,
): Promise<void> {
  try {
    await reserve(terms)
  } catch (error) {
    if (!isDomainError(error, 'insufficient_balance') && !isDomainError(error, 'budget_reached'))
      throw error
    const smaller = terms.fitting?.(parseAmount(String(error.details['available'])))
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

/** @throws DomainError `model_not_allowed` */
export function checkMayUse({ principal, model }: Pick<CallInput, 'principal' | 'model'>): void {
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
}
