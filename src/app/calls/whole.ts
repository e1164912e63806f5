import { ProviderError } from '../ports.ts'
import { type AdmittedCall, admit } from './admit.ts'
import { attempt, endAttempt } from './attempt.ts'
import type { CallDeps } from './deps.ts'
import type { WholeAnswer, CallFamily } from './family.ts'
import { failedResult, noteFailure } from './failure.ts'
import { freeOfCharge, settleCall } from './settle.ts'
import type { CallInput, CompletedCall } from './types.ts'

/**
 * An unstreamed call of any family, settled before it returns (P3). A caller who leaves does not
 * stop it: it ends within its channel's timeout and is settled.
 */
export async function completeCall<Input extends CallInput, Request, Seen, Body>(
  deps: CallDeps,
  family: CallFamily<Input, Request, Seen, Body>,
  input: Input,
  stopped: AbortSignal,
): Promise<CompletedCall<Body>> {
  const { call, request } = await admit(deps, input, false, family.resolve)
  const options = { signal: stopped, requestId: input.requestId }
  try {
    return await answer(deps, call, (channel) => family.ask(input, channel, request, options))
  } catch (error) {
    // Whatever went wrong, the hold ends; ending it twice does nothing.
    call.hold.withdraw()
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
  const { body, seen, failed, upstreamRequestId } = result
  const served = { channel, upstreamRequestId }
  if (failed !== undefined) {
    noteFailure(deps, call, served, failedResult(failed, seen))
    deps.metrics.ended.inc({ family: input.family, outcome: 'failed' })
    return { callId, body, settlement: freeOfCharge(call), measurement: 'reported' }
  }
  const outcome = input.callerGone.aborted ? 'disconnected' : 'completed'
  const settled = await settleCall(deps, call, served, { seen, outcome })
  return { callId, body, ...settled }
}
