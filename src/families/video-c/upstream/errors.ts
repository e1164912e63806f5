import { isJsonObject } from '../../../kernel/json.ts'
import { codeOf, textOf } from '../../kit/http/fields.ts'
import type { UpstreamError } from '../../kit/task/errors.ts'

/** Our credential, contract or balance upstream, whatever the status says. */
const ACCOUNT_REASONS: ReadonlySet<string> = new Set([
  'CreditInsufficient',
  'Forbidden',
  'ModelUnavailable',
  'Unauthorized',
])

/** The envelope `{"code":…,"reason":…,"message":…,"metadata":…}`; undefined when it is none. */
export function readReasonError(body: unknown): UpstreamError | undefined {
  if (!isJsonObject(body)) return undefined
  const code = codeOf(body['reason'])
  if (code === undefined) return undefined
  return {
    code,
    message: textOf(body['message']) ?? '',
    param: undefined,
    account: ACCOUNT_REASONS.has(code),
  }
}
