import { afterAcceptance } from '../../../api/kit/circumstances.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import { failureHeaders } from '../../../api/kit/failure-headers.ts'
import { createSurface, type Failure } from '../../../api/kit/surface-failures.ts'
import { clipFailures } from './failures.ts'

const surface = createSurface(clipFailures)

/** Upstream's own word for a refused input is kept, and so is ours for a field of its. */
function reasonOf({ failure, rule, text }: Failure): string {
  if (failure === 'refused_invalid') return text('upstreamCode') ?? rule.code
  return text('reason') ?? rule.code
}

/** The error shape of `/provC`: `{code, reason, message, metadata: {trace_id}}`. */
export const provCEnvelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(surface.read(error))
  const { status } = failure.rule
  return {
    status,
    headers: failureHeaders(failure),
    body: {
      code: status,
      reason: reasonOf(failure),
      message: failure.message,
      metadata: { trace_id: requestId },
    },
  }
}
