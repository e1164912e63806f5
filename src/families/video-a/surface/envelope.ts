import type { Answer, Envelope } from '../../../api/kit/envelope.ts'
import { afterAcceptance } from '../../../api/kit/circumstances.ts'
import type { FailureStatus } from '../../../api/kit/failure-table.ts'
import { failureHeaders } from '../../../api/kit/failure-headers.ts'
import { createSurface, type Failure } from '../../../api/kit/surface-failures.ts'
import { taskFailures } from './failures.ts'

/** The `type` of an error goes with its status. */
const typeByStatus: Readonly<Record<FailureStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  402: 'PaymentRequired',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'BadRequest',
  415: 'BadRequest',
  422: 'BadRequest',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalServerError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'GatewayTimeout',
  507: 'InsufficientStorage',
}

/** Upstream's words for a bad field; other codes of a refused input (moderation) are kept. */
const parameterCodes = /^(?:Invalid|Missing)(?:Parameter|Argument)/

function codeOf({ failure, rule, text }: Failure): string {
  const code = failure === 'refused_invalid' ? text('upstreamCode') : undefined
  return code === undefined || parameterCodes.test(code) ? rule.code : code
}

const surface = createSurface(taskFailures)

/** The error shape of `/provA` tasks: `{error: {code, message, param, type}}`. */
export const provAEnvelope: Envelope = (error): Answer => {
  const failure = afterAcceptance(surface.read(error))
  const { status } = failure.rule
  const { message, param = '' } = failure
  return {
    status,
    headers: failureHeaders(failure),
    body: { error: { code: codeOf(failure), message, param, type: typeByStatus[status] } },
  }
}
