import { adminEnvelope } from '../api/admin/envelope.ts'
import { queryEnvelope } from '../api/query/envelope.ts'

/** A failure in the words that the API has for it. */
export interface ShownFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly message: string
  /** The field or parameter at fault, where it is known. */
  readonly param: string | undefined
}

/** Reads what a page or a form threw, by the queries' table of failures, else by the administration's. */
export function failureOf(error: unknown, requestId: string): ShownFailure {
  const asQuery = queryEnvelope(error, requestId)
  const found = asQuery.status === 500 ? adminEnvelope(error, requestId) : asQuery
  const { status, headers, body } = found
  const param: unknown = Reflect.get(Object(Reflect.get(Object(body), 'error')), 'param')
  const message = String(Reflect.get(Object(body), 'message'))
  return { status, headers, message, param: typeof param === 'string' ? param : undefined }
}

/** Whether a failure is no word for its reader, but a defect of the gateway. */
export function isDefect({ status }: ShownFailure): boolean {
  return status >= 500 && status !== 503 && status !== 507
}
