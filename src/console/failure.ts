import { adminEnvelope } from '../api/admin/envelope.ts'
import { queryEnvelope } from '../api/query/envelope.ts'

/** A failure in the words that the API has for it. */
export interface ShownFailure {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly message: string
}

/** Reads what a page or a form threw, by the queries' table of failures, else by the administration's. */
export function failureOf(error: unknown, requestId: string): ShownFailure {
  const asQuery = queryEnvelope(error, requestId)
  const found = asQuery.status === 500 ? adminEnvelope(error, requestId) : asQuery
  const { status, headers, body } = found
  return { status, headers, message: String(Reflect.get(Object(body), 'message')) }
}

/** Whether a failure is no word for its reader, but a defect of the gateway. */
export function isDefect({ status }: ShownFailure): boolean {
  return status >= 500 && status !== 503 && status !== 507
}
