import { memberPath, WRONG_FORM } from '../../kernel/body.ts'
import { isOutage } from './bounds/drain.ts'

/** Faults of a request before any use case gets it; every envelope maps all of them. */
export type RequestFault =
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_offered'
  | 'url_invalid'
  | 'headers_too_large'
  | 'unauthenticated'
  | 'wrong_token_kind'
  | 'role_denied'
  | 'address_not_allowed'
  | 'body_empty'
  | 'body_invalid'
  | 'body_too_large'
  | 'media_type_unsupported'
  | 'parameter_invalid'
  | 'overloaded'
  | 'query_too_long'
  | 'outage'
  | 'internal'

/**
 * A request that the gateway refuses for its form; `param` names the offending field if there is
 * one.
 */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly fault: RequestFault
  readonly param: string | undefined

  constructor(fault: RequestFault, message: string, param?: string, cause?: unknown) {
    super(message, { cause })
    this.fault = fault
    this.param = param
  }
}

/** A number of bytes in the largest unit that divides it, such as `64 MiB`. */
export function bytesInWords(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB']
  let [count, unit] = [bytes, 0]
  while (count >= 1024 && count % 1024 === 0 && unit < units.length - 1) {
    count /= 1024
    unit += 1
  }
  return `${count} ${units[unit] ?? ''}`
}

interface ValidationIssue {
  readonly instancePath?: unknown
  readonly keyword?: unknown
  readonly message?: unknown
  /** The schema's own words for every fault but absence. */
  readonly words?: unknown
  readonly params?: unknown
}

function readString(value: object, key: string): string | undefined {
  const found: unknown = Reflect.get(value, key)
  return typeof found === 'string' ? found : undefined
}

/** The name of a missing member, which the path does not have. */
function missingMember(issue: ValidationIssue | undefined): string | undefined {
  const names: unknown = Reflect.get(Object(issue?.params), 'requiredProperties')
  const first: unknown = Array.isArray(names) ? names[0] : undefined
  return typeof first === 'string' ? first : undefined
}

/** Describes the fault of a member. */
function ruleOf(issue: ValidationIssue | undefined): unknown {
  if (issue?.keyword === 'required') return 'is required'
  // A schema that accepts nothing means that the member is unknown.
  if (issue?.keyword === 'boolean') return 'is not known here'
  if (typeof issue?.words === 'string') return issue.words
  if (issue?.keyword === 'pattern') return WRONG_FORM
  return allowedValues(issue) ?? issue?.message
}

/** The allowed values of a choice. */
function allowedValues(issue: ValidationIssue | undefined): string | undefined {
  const values: unknown = Reflect.get(Object(issue?.params), 'allowedValues')
  return Array.isArray(values) ? `must be one of ${values.join(', ')}` : undefined
}

function fromValidation(error: object): RequestError | undefined {
  const issues: unknown = Reflect.get(error, 'validation')
  if (!Array.isArray(issues)) return undefined
  const issue = issues[0] as ValidationIssue | undefined
  const path = typeof issue?.instancePath === 'string' ? issue.instancePath : ''
  const param = memberPath(path, missingMember(issue))
  const rule = ruleOf(issue)
  const said = typeof rule === 'string' ? rule : 'is not valid'
  return new RequestError('parameter_invalid', `${param} ${said}`.trim(), param)
}

function fromFramework(code: string, statusCode: number | undefined): RequestError | undefined {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new RequestError('body_too_large', 'The request body is too large')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new RequestError(
        'media_type_unsupported',
        'The request body must be sent as application/json',
      )
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new RequestError(
        'body_invalid',
        'The request body does not have the length given by Content-Length',
      )
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new RequestError('url_invalid', 'The URL is not valid')
    default:
      return statusCode !== undefined && statusCode >= 400 && statusCode < 500
        ? new RequestError('body_invalid', 'The request could not be read')
        : undefined
  }
}

/** Reads any thrown value that is not a domain error as a request error; a surprise is `internal`. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error
  if (typeof error === 'object' && error !== null) {
    const statusCode: unknown = Reflect.get(error, 'statusCode')
    const known =
      fromValidation(error) ??
      fromFramework(
        readString(error, 'code') ?? '',
        typeof statusCode === 'number' ? statusCode : undefined,
      )
    if (known) return known
    if (isOutage(error))
      return new RequestError(
        'outage',
        'A component that the gateway needs is unavailable',
        undefined,
        error,
      )
  }
  return new RequestError('internal', 'Internal error', undefined, error)
}
