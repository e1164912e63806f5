import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failure-table.ts'
import { afterAcceptance, afterSending } from '../../../api/kit/circumstances.ts'
import { failureHeaders } from '../../../api/kit/failure-headers.ts'
import { createSurface, type Failure } from '../../../api/kit/surface-failures.ts'
import { speechFailures } from './failures.ts'

/** What this wire tells with HTTP 200: whoever speaks it looks at `base_resp` alone. */
const toldInBody: ReadonlySet<FailureStatus> = new Set([400, 402, 422])

/** Upstream's numbers for an input it refuses, which tell callers what to mend. */
const inputCodes: ReadonlySet<string> = new Set(
  '1026 1027 1042 1043 1044 2013 2037 2039 2042 2048 20132'.split(' '),
)

function codeOf({ failure, rule, text }: Failure): string {
  const given = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  return given !== undefined && inputCodes.has(given) ? given : rule.code
}

const surface = createSurface(speechFailures)

/** A failure as it stands in a body, whole or a frame of a stream. */
function bodyOf(failure: Failure, requestId: string) {
  const { message } = failure
  return {
    base_resp: { status_code: Number(codeOf(failure)), status_msg: message },
    trace_id: requestId,
  }
}

/** What a failure looks like in the middle of a stream. */
export function failureFrame(error: unknown, requestId: string): unknown {
  return bodyOf(afterSending(surface.read(error)), requestId)
}

/** The error shape of `/provB/v1`: `{base_resp: {status_code, status_msg}, trace_id}`. */
export const provBV1Envelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(afterSending(surface.read(error)))
  const { status } = failure.rule
  return {
    status: toldInBody.has(status) ? 200 : status,
    headers: failureHeaders(failure),
    body: bodyOf(failure, requestId),
  }
}
