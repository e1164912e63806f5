import { type Static, Type } from 'typebox'
import type { Envelope } from '../kit/envelope.ts'
import { failureTable } from '../kit/failure-table.ts'
import { toRequestError } from '../kit/request-error.ts'

const FailureSchema = Type.Object(
  { error: Type.Object({ code: Type.String(), message: Type.String() }) },
  { named: 'OperatingFailure' },
)

/** The error shape of every path that belongs to no family: `{error: {code, message}}`. */
export const operatingEnvelope: Envelope = (error) => {
  const { fault, message } = toRequestError(error)
  return {
    status: failureTable[fault].status,
    headers: { 'cache-control': 'no-store' },
    body: { error: { code: fault, message } },
  }
}

/** The same for the OpenAPI description. */
export const operatingShape = {
  envelope: operatingEnvelope,
  schema: FailureSchema,
  read: (body: unknown) => {
    const { code: name, message } = (body as Static<typeof FailureSchema>).error
    return { name, message }
  },
}
