import { type Static, Type } from 'typebox'
import type { Envelope } from '../kit/envelope.ts'
import { toRequestError } from '../kit/request-error.ts'
import { usualRowOf } from '../kit/failures/surface-failures.ts'
import { isDomainError } from '../../kernel/errors.ts'

const FailureSchema = Type.Object(
  { error: Type.Object({ code: Type.String(), message: Type.String() }) },
  { named: 'OperatingFailure' },
)

/** The error shape of every path that belongs to no family: `{error: {code, message}}`. */
export const operatingEnvelope: Envelope = (error) => {
  const { code, status, words } = usualRowOf(error)
  const message = isDomainError(error) ? words : toRequestError(error).message
  return { status, headers: { 'cache-control': 'no-store' }, body: { error: { code, message } } }
}

/** The shape of failures for the OpenAPI description. */
export const operatingShape = {
  envelope: operatingEnvelope,
  schema: FailureSchema,
  read: (body: unknown) => {
    const { code: name, message } = (body as Static<typeof FailureSchema>).error
    return { name, message }
  },
}
