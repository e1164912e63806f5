import { Value } from 'typebox/value'
import type { UpstreamError } from '../kit/task/errors.ts'
import { codeOf } from '../kit/task/fields.ts'
import { ErrorAnswerSchema } from './schemas.ts'

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

/** The envelope `{"error":{code,message,param}}`; undefined when it is none. */
export function readError(body: unknown): UpstreamError | undefined {
  if (!Value.Check(ErrorAnswerSchema, body)) return undefined
  const { message, param } = body.error
  const code = codeOf(body.error.code)
  return {
    code,
    message: typeof message === 'string' ? message : '',
    param: typeof param === 'string' && param !== '' ? param.slice(0, MAX_PARAM_LENGTH) : undefined,
    account: isAccountCode(code),
  }
}

function isAccountCode(code: string | undefined): boolean {
  return (
    code !== undefined &&
    ACCOUNT_CODES.some((prefix) => code === prefix || code.startsWith(`${prefix}.`))
  )
}
