import { DomainError } from '../../kernel/errors.ts'
import { ProviderError } from '../ports/provider.ts'
import { admit, type AdmittedCall } from './answer-call.ts'
import { attempt, endAttempt } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import type { WholeAnswer, CallFamily } from './family.ts'
import { freeOfCharge, settleCall } from './settle.ts'
import { type Served } from './facts.ts'
import { failedResult, failureOf, noteFailure, SettledRefusal, withCallId } from './failure.ts'
import { once } from './once.ts'
import type { CallInput, Claimed, CompletedCall } from './types.ts'

/**
 * An unstreamed call of any family, settled before it returns (P3). A caller who leaves does not
 * stop it: it ends within its channel's timeout and is settled.
 */
export function completeCall<Input extends CallInput, Request, Seen, Body>(
  deps: CallDeps,
  family: CallFamily<Input, Request, Seen, Body>,
  input: Input,
  stopped: AbortSignal,
): Promise<CompletedCall<Body>> {
  return once(deps, input, (claimed) => complete(deps, family, claimed, stopped))
}

async function complete<Input extends CallInput, Request, Seen, Body>(
  deps: CallDeps,
  family: CallFamily<Input, Request, Seen, Body>,
  input: Claimed<Input>,
  stopped: AbortSignal,
): Promise<CompletedCall<Body>> {
  const { call, request } = await admit(deps, input, false, family.resolve)
  const options = { signal: stopped, requestId: input.requestId }
  try {
    await family.prepare?.(request, options)
    return await answer(deps, call, (channel) => family.ask(input, channel, request, options))
  } catch (error) {
    // Does nothing once the call is settled.
    call.held.release('failed')
    throw error instanceof ProviderError ? family.refusal(error, call.callId) : error
  }
}

async function answer<Seen, Body>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  ask: Parameters<typeof attempt<Seen, WholeAnswer<Seen, Body>>>[2],
): Promise<CompletedCall<Body>> {
  const { input, callId } = call
  const { channel, lease, result } = await attempt(deps, call, ask)
  endAttempt(deps, call, lease, undefined)
  deps.crashPoint('call.after-provider')
  const { seen, failed, refusal, upstreamRequestId } = result
  const served = { channel, upstreamRequestId }
  if (failed !== undefined) {
    noteFailure(deps, call, served, failedResult(failed, seen))
    if (refusal !== undefined) throw withCallId(refusal, callId)
    deps.metrics.ended.inc({ family: input.family, outcome: 'failed' })
    // It cost nothing: asked for again it is made again.
    await call.claim?.release()
    const settlement = freeOfCharge(call)
    return { callId, body: await result.body(), settlement, measurement: 'reported' }
  }
  const body = refusal ?? (await finished(deps, call, served, result))
  const outcome = input.callerGone.aborted ? 'disconnected' : 'completed'
  const settled = await settleCall(deps, call, served, {
    seen: result.delivered?.() ?? seen,
    outcome,
  })
  if (body instanceof DomainError)
    throw new SettledRefusal(withCallId(body, callId), settled.settlement)
  return { callId, body, ...settled }
}

/** What cannot be delivered is our cost, whatever came of it upstream (P5). */
async function finished<Seen, Body>(
  deps: CallDeps,
  call: AdmittedCall<Seen>,
  served: Served,
  { body, seen }: WholeAnswer<Seen, Body>,
): Promise<Body> {
  try {
    return await body()
  } catch (error) {
    if (error instanceof ProviderError) {
      noteFailure(deps, call, served, failureOf(error, seen))
      throw error
    }
    const code = error instanceof DomainError ? error.code : 'internal'
    noteFailure(deps, call, served, failedResult(code, seen))
    throw error instanceof DomainError ? withCallId(error, call.callId) : error
  }
}
