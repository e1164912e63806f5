import type { CallTerms } from '../../domain/catalog/call-rules.ts'
import { DomainError, isDomainError } from '../../kernel/errors.ts'
import { newCallId } from '../../kernel/ids.ts'
import { formatAmount, parseAmount } from '../../kernel/money.ts'
import type { RequestQuote } from '../finance/prices/tenant-prices.ts'
import { type Channel, ProviderError } from '../ports/provider.ts'
import { createReservations } from '../spending/reservation.ts'
import { sharerOf } from '../../domain/token/sharer.ts'
import { attemptCall, endCallAttempt } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import type { AnsweringChannel } from './event-facts.ts'
import type {
  AdmittedCall,
  CallFamily,
  CallInput,
  CompletedCall,
  ResolvedCall,
  PricingInput,
  WholeAnswer,
} from './family.ts'
import {
  failedResult,
  callFailureOf,
  zeroSettlement,
  noteFailure,
  settle,
  SettledRefusal,
  withCallId,
} from './settle.ts'

/**
 * One synchronous call of any family, settled before it returns; money moves in the order of these
 * lines. The call continues if its caller disconnects: it ends within its channel's timeout and is
 * settled.
 *
 * @throws as `admit`, `attemptCall` and `settle`, and `SettledRefusal`
 */
export async function answerCall<Input extends CallInput, Request, Seen, Body>(
  deps: CallDeps,
  family: CallFamily<Input, Request, Seen, Body>,
  input: Input,
  stopped: AbortSignal,
): Promise<CompletedCall<Body>> {
  const { call, request } = await admit(deps, family, input, false)
  const { callId } = call
  const options = { signal: stopped, requestId: input.requestId, callId }
  let free: (() => void) | undefined
  try {
    // Fetching may take long, so the call holds no channel yet.
    free = await family.prepare?.(request, options)
    const { channel, lease, result, attempts } = await attemptCall(deps, call, (asked) =>
      family.ask(input, asked, request, options),
    )
    endCallAttempt(deps, call, lease, undefined)
    deps.crashPoint('call.after-provider')
    const served = { channel, upstreamRequestId: result.upstreamRequestId, attempts }
    // P5: a failed result is not billed; it is recorded as the operator's cost.
    if (result.failed !== undefined)
      return await deliverFailed(deps, call, served, { ...result, failed: result.failed })
    const body = result.refusal ?? (await deliverable(deps, call, served, result))
    const outcome = input.callerGone.aborted ? 'disconnected' : 'completed'
    // P3: `CallSettled` is durable before anything is delivered.
    const settled = await settle(deps, call, served, {
      seen: result.delivered?.() ?? result.seen,
      outcome,
    })
    if (body instanceof DomainError)
      throw new SettledRefusal(withCallId(body, callId), settled.settlement)
    return { callId, body, ...settled }
  } catch (error) {
    throw await endFailed(family, call, error)
  } finally {
    free?.()
  }
}

/**
 * Releases the reservations of an admitted call, of which none is left once it is settled; returns
 * the error for the caller.
 */
export async function endFailed<Seen>(
  { refusal }: Pick<CallFamily<CallInput, unknown, Seen, unknown>, 'refusal'>,
  { callId, held, claim }: AdmittedCall<Seen>,
  error: unknown,
): Promise<unknown> {
  held.release('failed')
  await claim?.release()
  return error instanceof ProviderError ? refusal(error, callId) : error
}

/**
 * Makes every check that can refuse the call before anything is sent, and returns the request to
 * send. After a refusal it releases its reservations.
 *
 * @throws RepeatedAnswer; DomainError `model_not_allowed`, `unknown_model`, `log_unavailable`,
 *   `rate_limited`, `price_not_configured`, `insufficient_balance`, `budget_reached`, and those of
 *   `CallClaims.take`, of `TenantAccess` and of the family's `resolve`
 */
export async function admit<Input extends CallInput, Request, Seen>(
  deps: CallDeps,
  { resolve }: Pick<CallFamily<Input, Request, Seen, unknown>, 'resolve'>,
  input: Input,
  streamed: boolean,
): Promise<{ readonly call: AdmittedCall<Seen>; readonly request: Request }> {
  const { principal, keyed } = input
  // Checked before a stored answer too: it may be of a model that the token may not use.
  checkMayUse(input)
  // P4: a key makes one call over all replicas. A stored answer needs no log, channel or funds.
  const claim = keyed && (await deps.claims.take(principal, keyed))
  const held = createReservations()
  try {
    if (claim !== undefined) keyed?.taken(claim)
    const offered = resolveOffered(deps, input, (serving) => resolve(input, serving))
    const { request, channelQuery, expectedTokens, price } = offered
    offered.checkDelivery?.()
    // P9: no call begins while the log is unavailable.
    if (!deps.log.healthy()) await deps.log.ready()
    // P3: what is delivered is recorded, also if the log goes away before the call ends.
    deps.journal.requireWritable()
    held.add(await deps.throttle.call(principal, expectedTokens))
    // P4: the settlement will use the prices of this moment.
    const terms = price(await deps.prices.of(principal.tenantId))
    deps.tenantAccess.checkCreation(principal)
    const labels = deps.labels.of(principal.tenantId, input.labels)
    await orSmaller(terms, async ({ currency, holdPico }) => {
      held.add(await deps.budgets.reserve(principal, currency, holdPico))
      held.add(await deps.funds.reserve(principal.tenantId, currency, holdPico))
    })
    held.add(deps.throttle.absorbed.reserve(sharerOf(principal), terms.holdPico))
    const startedAtMs = deps.clock.nowMs()
    const callId = claim?.callId ?? newCallId(startedAtMs)
    const kept = keptOf(input)
    return {
      call: {
        callId,
        input: kept,
        claim,
        channelQuery,
        streamed,
        startedAtMs,
        labels,
        terms,
        held,
      },
      request,
    }
  } catch (error) {
    held.release('not_started')
    await claim?.release()
    throw error
  }
}

/**
 * The hold of a call and the SKUs its settlement can use, by the rules of its admission. It
 * reserves and sends nothing. @throws as `admit`, except for balances, limits and the log
 */
export async function quoteCall<Input extends CallInput, Request, Seen>(
  deps: Pick<CallDeps, 'channels' | 'prices'>,
  { resolve }: Pick<CallFamily<Input, Request, Seen, unknown>, 'resolve'>,
  input: PricingInput<Input> & PricingInput<CallInput>,
): Promise<RequestQuote> {
  const { price } = resolveCall(deps, { resolve }, input)
  const { priceBookVersion, currency, holdPico, candidates } = price(
    await deps.prices.of(input.principal.tenantId),
  )
  return { priceBookVersion, currency, hold: formatAmount(holdPico), candidates }
}

/**
 * Works out the request of a call and the channels that may serve it, without its price.
 * @throws DomainError `model_not_allowed`, `unknown_model`, those of `resolve`
 */
export function resolveCall<Input extends CallInput, Request, Seen>(
  deps: { readonly channels: Pick<CallDeps['channels'], 'serving'> },
  { resolve }: Pick<CallFamily<Input, Request, Seen, unknown>, 'resolve'>,
  input: PricingInput<Input> & PricingInput<CallInput>,
): ResolvedCall<Request, Seen> {
  checkMayUse(input)
  return resolveOffered(deps, input, (serving) => resolve(input, serving))
}

/** Resolves a call of an offered model. @throws DomainError `unknown_model`, those of `resolve` */
function resolveOffered<Request, Seen>(
  { channels }: { readonly channels: Pick<CallDeps['channels'], 'serving'> },
  { family, model }: Pick<CallInput, 'family' | 'model'>,
  resolve: (serving: readonly Channel[]) => ResolvedCall<Request, Seen>,
): ResolvedCall<Request, Seen> {
  const serving = channels.serving({ family, model })
  if (serving.length === 0)
    throw new DomainError('unknown_model', `the model ${model} does not exist`, { model })
  return resolve(serving)
}

/** @throws DomainError `model_not_allowed` */
function checkMayUse({ principal, model }: Pick<CallInput, 'principal' | 'model'>): void {
  if (principal.models !== undefined && !principal.models.has(model))
    throw new DomainError('model_not_allowed', `this token may not use ${model}`, { model })
}

/** If the balance is too low, the refusal names the request that would fit. @throws as `reserve` */
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
  repeat = {},
}: CallInput): CallInput {
  return { principal, family, surface, requestId, model, callerGone, repeat }
}

/** Delivers a result that the provider itself calls failed: unchanged, and free. */
async function deliverFailed<Seen, Body>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  { failed, refusal, seen, body }: WholeAnswer<Seen, Body> & { readonly failed: string },
): Promise<CompletedCall<Body>> {
  const { callId } = call
  noteFailure(deps, call, served, failedResult(failed, seen))
  if (refusal !== undefined) throw withCallId(refusal, callId)
  deps.metrics.ended.inc({ family: call.input.family, outcome: 'failed' })
  // The failed call cost nothing, so a retry makes it again.
  await call.claim?.release()
  return { callId, body: await body(), settlement: zeroSettlement(call), measurement: 'reported' }
}

/**
 * The body for the caller. A result that cannot be delivered is the operator's cost, whatever
 * upstream did (P5).
 */
async function deliverable<Seen, Body>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: AnsweringChannel,
  { body, seen }: WholeAnswer<Seen, Body>,
): Promise<Body> {
  try {
    return await body()
  } catch (error) {
    if (error instanceof ProviderError) {
      noteFailure(deps, call, served, callFailureOf(error, seen))
      throw error
    }
    const code = error instanceof DomainError ? error.code : 'internal'
    noteFailure(deps, call, served, failedResult(code, seen))
    throw error instanceof DomainError ? withCallId(error, call.callId) : error
  }
}
