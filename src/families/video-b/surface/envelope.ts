import { afterAcceptance } from '../../../api/kit/circumstances.ts'
import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import type { FailureStatus } from '../../../api/kit/failure-table.ts'
import { failureHeaders } from '../../../api/kit/failure-headers.ts'
import { createSurface, type Failure } from '../../../api/kit/surface-failures.ts'
import { videoFailures } from './failures.ts'

/** The `type` of an error goes with its status. */
const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'bad_request_error',
  401: 'authorized_error',
  402: 'insufficient_balance_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'bad_request_error',
  415: 'bad_request_error',
  422: 'unprocessable_entity_error',
  429: 'rate_limit_error',
  431: 'bad_request_error',
  500: 'server_error',
  502: 'server_error',
  503: 'server_error',
  504: 'server_error',
  507: 'server_error',
}

/** Upstream's numbers for input that moderation took. */
const sensitive: ReadonlySet<string> = new Set(['1026', '1027'])

/** An input that upstream refused keeps its number, and the status that goes with it. */
function withUpstreamNumber(failure: Failure): Failure {
  const code = failure.failure === 'refused_invalid' ? failure.text('upstreamCode') : undefined
  if (code === undefined || !/^\d{4}$/.test(code)) return failure
  const status = sensitive.has(code) ? 422 : failure.rule.status
  return { ...failure, rule: { ...failure.rule, code, status } }
}

/** This shape has no place of its own for the field at fault. */
function saying({ message, param = '' }: Failure): string {
  return param === '' || message.includes(param) ? message : `${message}: \`${param}\``
}

const surface = createSurface(videoFailures)

/** The error shape of `/provB/v2`: `{type: "error", error: {type, message, http_code}, request_id}`. */
export const provBV2Envelope: Envelope = (error, requestId): Answer => {
  const failure = afterAcceptance(withUpstreamNumber(surface.read(error)))
  const { status, code } = failure.rule
  return {
    status,
    headers: failureHeaders(failure),
    body: {
      type: 'error',
      error: {
        type: typeByStatus[status],
        message: `${saying(failure)} (${code})`,
        http_code: String(status),
      },
      request_id: requestId,
    },
  }
}
