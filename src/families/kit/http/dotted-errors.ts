import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { codeOf, textOf } from './fields.ts'

const MAX_PARAM_LENGTH = 120

/** Dotted prefixes: our account lacks the model or the service, whatever the status says. */
const ACCOUNT_CODES = [
  'InvalidEndpointOrModel',
  'InvalidEndpoint',
  'InvalidSubscription',
  'ModelNotOpen',
  'UnsupportedModel',
  'OperationDenied',
  'AuthenticationError',
  'InvalidAccountStatus',
  'AccessDenied',
  'AccountOverdueError',
]

/** What an envelope with a dotted code says. */
export interface DottedError {
  readonly code: string | undefined
  readonly type: string | undefined
  readonly message: string
  readonly param: string | undefined
  /** It speaks of our account upstream rather than of what the caller sent. */
  readonly account: boolean
}

/** The envelope `{"error":{code,message,param,type}}`; undefined when it is none. */
export function readDottedError(body: unknown): DottedError | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined
  return isJsonObject(error) ? dottedError(error) : undefined
}

/** The inside of that envelope; lists of results hold it bare. */
export function dottedError(error: JsonObject): DottedError {
  const code = codeOf(error['code'])
  return {
    code,
    type: textOf(error['type']),
    message: textOf(error['message']) ?? '',
    param: textOf(error['param'])?.slice(0, MAX_PARAM_LENGTH),
    account: isAccountCode(code),
  }
}

function isAccountCode(code: string | undefined): boolean {
  return (
    code !== undefined &&
    ACCOUNT_CODES.some((prefix) => code === prefix || code.startsWith(`${prefix}.`))
  )
}
