import type { FamilyKit } from '../family.ts'
import { randomHex } from '../kit/clock.ts'
import { bearerKey, Refusal, wireOf, type Wire } from './wire.ts'

/** The errors of the wire with dotted codes, such as `InvalidParameter.content`. */

/** By prefix of the dotted code; whatever is not listed is a 400. */
const STATUS_RULES: readonly (readonly [status: number, type: string, codes: string])[] = [
  [401, 'Unauthorized', 'AuthenticationError InvalidAccountStatus'],
  [403, 'Forbidden', 'AccessDenied AccountOverdueError OperationDenied'],
  [
    404,
    'NotFound',
    'InvalidEndpointOrModel ModelNotOpen UnsupportedModel NotFound ResourceNotFound',
  ],
  [409, 'Conflict', 'InvalidAction'],
  [
    429,
    'TooManyRequests',
    'RateLimitExceeded ModelAccountRpmRateLimitExceeded ModelAccountTpmRateLimitExceeded ' +
      'ModelAccountIpmRateLimitExceeded APIAccountRpmRateLimitExceeded AccountRateLimitExceeded ' +
      'QuotaExceeded ServerOverloaded RequestBurstTooFast SetLimitExceeded InflightBatchsizeExceeded',
  ],
  [500, 'InternalServerError', 'InternalServiceError'],
]

function statusOf(code: string): readonly [status: number, type: string] {
  const [prefix = ''] = code.split('.')
  const rule = STATUS_RULES.find(([, , codes]) => codes.split(' ').includes(prefix))
  return rule === undefined ? [400, 'BadRequest'] : [rule[0], rule[1]]
}

const MESSAGES: Readonly<Record<string, string>> = {
  AuthenticationError: 'The API key or AK/SK in the request is missing or invalid.',
  InternalServiceError: 'The service encountered an unexpected internal error.',
  ServerOverloaded: 'The service is currently unable to handle additional requests.',
  OutputVideoSensitiveContentDetected:
    'The request failed because the output video may contain sensitive information.',
  OutputImageSensitiveContentDetected:
    'The request failed because the output image may contain sensitive information.',
  InputTextSensitiveContentDetected:
    'The request failed because the input text may contain sensitive information.',
  ModelNotOpen: 'Your account has not activated the model. Please activate it in the console.',
}

/** The text that goes with a code where nothing more is known. */
export function messageOf(code: string): string {
  return MESSAGES[code] ?? MESSAGES[code.split('.')[0] ?? ''] ?? `The request failed: ${code}.`
}

/** A request id in this upstream's form. */
export function newRequestId({ random, clock }: Pick<FamilyKit, 'random' | 'clock'>): string {
  return `02${clock.nowMs()}${randomHex(random, 32)}`
}

const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'InvalidParameter',
  401: 'AuthenticationError',
  403: 'AccessDenied',
  404: 'NotFound',
  409: 'InvalidAction',
  429: 'ServerOverloaded',
  500: 'InternalServiceError',
}

/** The wire of a family; `prompted` is the member that holds the switches. */
export function dottedWire(kit: FamilyKit, family: string, prompted: string): Wire {
  return wireOf(
    {
      family,
      keyOf: bearerKey,
      denied: () => new Refusal('AuthenticationError', messageOf('AuthenticationError')),
      unknownSwitch: (message) =>
        new Refusal('InvalidParameter.SandboxMarker', `${message}.`, prompted),
      messageOf,
      codeOfStatus: CODE_OF_STATUS,
      // All four members; the message ends with the request id.
      answer: ({ code, message: text, param }) => {
        const [status, type] = statusOf(code)
        const requestId = newRequestId(kit)
        const message = `${text} Request id: ${requestId}`
        return {
          status,
          body: { error: { code, message, param: param ?? '', type } },
          headers: { 'x-request-id': requestId },
        }
      },
    },
    kit.options.apiKeys,
  )
}
