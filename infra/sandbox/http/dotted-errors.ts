import { type Random, randomHex } from '../kit/random.ts'
import type { Answer } from './exchange.ts'

/** A refusal on a wire with dotted codes: its code decides its HTTP status. */
export class Refusal extends Error {
  readonly code: string
  readonly param: string

  constructor(code: string, message: string, param = '') {
    super(message)
    this.code = code
    this.param = param
  }
}

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
export function newRequestId(random: Random, nowMs: number): string {
  return `02${nowMs}${randomHex(random, 32)}`
}

/** An error answer with all four members; the message ends with the request id. */
export function errorAnswer(
  code: string,
  message: string,
  param: string,
  requestId: string,
): Answer {
  const { status, type } = ruleOf(code)
  const text = `${message} Request id: ${requestId}`
  return {
    status,
    body: { error: { code, message: text, param, type } },
    headers: { 'x-request-id': requestId },
  }
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

/** What a bare status looks like: the envelope where the service itself speaks, else a proxy's page. */
export function failureAnswer(status: number, requestId: string): Answer {
  const code = CODE_OF_STATUS[status]
  if (code !== undefined) return errorAnswer(code, messageOf(code), '', requestId)
  return {
    status: status >= 200 && status <= 599 ? status : 500,
    body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
    headers: { 'content-type': 'text/html' },
  }
}
