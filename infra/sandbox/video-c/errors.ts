import type { Answer } from '../http/exchange.ts'

/** A refusal on this wire: its reason decides its HTTP status. */
export class Refusal extends Error {
  readonly reason: string

  constructor(reason: string, message = messageOf(reason)) {
    super(message)
    this.reason = reason
  }
}

/** Whatever is not listed is a 400. */
const STATUSES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  TaskNotFound: 404,
  CreationNotFound: 404,
  NotFound: 404,
  Conflict: 409,
  QuotaExceeded: 429,
  TooManyRequests: 429,
  SystemThrottling: 429,
  Canceled: 499,
  InternalServiceFailure: 500,
}

const MESSAGES: Readonly<Record<string, string>> = {
  Unauthorized: 'token is invalid',
  TaskNotFound: 'task not found',
  CreditInsufficient: 'credit is insufficient',
  InternalServiceFailure: 'internal service failure',
  SystemThrottling: 'system is throttling, try again later',
}

export function messageOf(reason: string): string {
  return MESSAGES[reason] ?? `the request failed: ${reason}`
}

export function errorAnswer(reason: string, message: string, traceId: string): Answer {
  const status = STATUSES[reason] ?? 400
  return { status, body: { code: status, reason, message, metadata: { trace_id: traceId } } }
}

const REASON_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'TaskNotFound',
  409: 'Conflict',
  429: 'SystemThrottling',
  499: 'Canceled',
  500: 'InternalServiceFailure',
}

/** What a bare status looks like: the envelope where the service itself speaks, else a proxy's page. */
export function failureAnswer(status: number, traceId: string): Answer {
  const reason = REASON_OF_STATUS[status]
  if (reason !== undefined) return errorAnswer(reason, messageOf(reason), traceId)
  return {
    status: status >= 200 && status <= 599 ? status : 500,
    body: `<html><head><title>${status}</title></head><body><h1>${status}</h1></body></html>\n`,
    headers: { 'content-type': 'text/html' },
  }
}
