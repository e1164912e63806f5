import { isJsonObject } from '../../../kernel/json.ts'
import { textOf } from '../../kit/http/fields.ts'
import type { UpstreamError } from '../../kit/task/errors.ts'

/** The error envelope of the `/provB` video upstream: its numbers tell more than its types. */

/** Our credential is unknown, belongs to another host, or our balance is used up. */
const ACCOUNT_NUMBERS: ReadonlySet<string> = new Set(['1004', '1008', '2049'])
const NUMBER = /\s*\((\d{4})\)\s*$/
const MISSING = /record not found|invalid task_?id/i

/** `{"type":"error","error":{type,message,http_code},"request_id"}`; undefined when it is none. */
export function readNumberedError(body: unknown): UpstreamError | undefined {
  const error = isJsonObject(body) ? body['error'] : undefined
  if (!isJsonObject(error)) return undefined
  const said = textOf(error['message']) ?? ''
  const code = NUMBER.exec(said)?.[1]
  const message = said.replace(NUMBER, '')
  return {
    code,
    message,
    param: undefined,
    account: code !== undefined && ACCOUNT_NUMBERS.has(code),
    missing: MISSING.test(message),
  }
}
