import { ProviderError } from '../ports.ts'
import { attempt, endAttempt } from './attempts.ts'
import { type AdmittedCall, admit } from './call.ts'
import type { CallDeps } from './deps.ts'
import { failedResult, freeOfCharge, noteFailure, settleCall } from './record.ts'
import { refusalOf } from './refusals.ts'
import type { CompletedCall, TextCallInput } from './types.ts'

/**
 * An unstreamed call, settled before it returns (P3). A caller who leaves does not stop it: it ends
 * within its channel's timeout and is settled.
 */
export async function completeCall(
  deps: CallDeps,
  input: TextCallInput,
  stopped: AbortSignal,
): Promise<CompletedCall> {
  const { call, body } = await admit(deps, input, false)
  try {
    return await answer(deps, call, body, stopped)
  } catch (error) {
    // Whatever went wrong, the hold ends; ending it twice does nothing.
    call.hold.withdraw()
    throw error instanceof ProviderError ? refusalOf(error, call.callId) : error
  }
}

async function answer(
  deps: CallDeps,
  call: AdmittedCall,
  body: TextCallInput['body'],
  stopped: AbortSignal,
): Promise<CompletedCall> {
  const { input, callId } = call
  const options = { signal: stopped, requestId: input.requestId }
  const { channel, lease, result } = await attempt(deps, call, body, (provider, channel, request) =>
    provider.complete(channel, request, options),
  )
  endAttempt(deps, call, lease, undefined)
  deps.crashPoint('call.after-provider')
  const { body: answered, upstreamRequestId } = result
  const served = { channel, upstreamRequestId }
  const tally = result.tally()
  if (tally.failure !== undefined) {
    noteFailure(deps, call, served, failedResult(tally.failure, tally))
    deps.metrics.ended.inc({ family: input.family, outcome: 'failed' })
    return {
      callId,
      body: answered,
      settlement: freeOfCharge(call),
      measurement: 'reported',
    }
  }
  const outcome = input.callerGone.aborted ? 'disconnected' : 'completed'
  const settled = await settleCall(deps, call, served, { tally, outcome })
  return { callId, body: answered, ...settled }
}
