import type { FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { misspeltIn } from './misspelt.ts'
import { RequestError } from './request-error.ts'
import { strictValidator } from './validator.ts'

function requiresNothing(schema: TSchema): boolean {
  const required: unknown = Reflect.get(schema, 'required')
  return !Array.isArray(required) || required.length === 0
}

/**
 * For routes that change what somebody may do: a body is all that its schema says, of a misspelt member
 * it is told what was meant. Where nothing is required it may be left out.
 */
export const strictBodies: FastifySchemaCompiler<TSchema> = (route) => {
  const validate = strictValidator(route)
  if (route.httpPart !== 'body') return validate
  const tell = misspeltIn(route.schema, {})
  const mayBeAbsent = requiresNothing(route.schema)
  return (value: unknown) => {
    // Fastify says null where nothing was sent.
    if (value === undefined || value === null)
      return mayBeAbsent
        ? { value: {} }
        : { error: new RequestError('body_empty', 'The request body is empty') }
    const error = tell(value)
    return error === undefined ? validate(value) : { error }
  }
}
