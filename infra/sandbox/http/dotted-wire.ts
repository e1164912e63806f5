import type { FamilyKit } from '../family.ts'
import { randomHex } from '../kit/random.ts'
import { bearerKey, Refusal, wireOf, type Wire } from './wire.ts'

/** The errors of the wire with dotted codes, such as `InvalidParameter.content`. */

interface StatusRule {
  readonly status: number
  readonly type: string
  readonly codes: readonly string[]
}

/** By prefix of the dotted code; whatever is not listed is a 400. */
const STATUS_RULES: readonly StatusRule[] = [
  { status: 401, type: 'Unauthorized', codes: ['AuthenticationError', 'InvalidAccountStatus'] },
  {
    status: 403,
    type: 'Forbidden',
    codes: ['AccessDenied', 'AccountOverdueError', 'OperationDenied'],
  },
  {
    status: 404,
    type: 'NotFound',
    codes: [
      'InvalidEndpointOrModel',
      'ModelNotOpen',
      'UnsupportedModel',
      'NotFound',
      'ResourceNotFound',
    ],
  },
  { status: 409, type: 'Conflict', codes: ['InvalidAction'] },
  {
    status: 429,
    type: 'TooManyRequests',
    codes: [
      'RateLimitExceeded',
      'ModelAccountRpmRateLimitExceeded',
      'ModelAccountTpmRateLimitExceeded',
      'ModelAccountIpmRateLimitExceeded',
      'APIAccountRpmRateLimitExceeded',
      'AccountRateLimitExceeded',
      'QuotaExceeded',
      'ServerOverloaded',
      'RequestBurstTooFast',
      'SetLimitExceeded',
      'InflightBatchsizeExceeded',
    ],
  },
  { status: 500, type: 'InternalServerError', codes: ['InternalServiceError'] },
]

const BAD_REQUEST: StatusRule = { status: 400, type: 'BadRequest', codes: [] }

function ruleOf(code: string): StatusRule {
  const fits = (prefix: string): boolean => code === prefix || code.startsWith(`${prefix}.`)
  return STATUS_RULES.find((rule) => rule.codes.some(fits)) ?? BAD_REQUEST
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

/** The wire of a family; `prompted` is the member that switches stand in. */
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
        const { status, type } = ruleOf(code)
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
