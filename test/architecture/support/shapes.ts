import { toCallFailure } from '../../../src/api/kit/call-failures.ts'
import type { Envelope } from '../../../src/api/kit/envelope.ts'
import type { JsonObject } from '../../../src/kernel/json.ts'
import { refuse } from '../../../src/domain/catalog/checks/fields.ts'

/** What the two families of the test have in common: their error shape, and a text that must be given. */

/** `{oops: {word, says, member}}` */
export const oops: Envelope = (error) => {
  const { status, headers, code, message, param } = toCallFailure(error)
  return { status, headers, body: { oops: { word: code, says: message, member: param } } }
}

/** @throws DomainError naming the member */
export function textOf(body: JsonObject, name: string): string {
  const value = body[name]
  return typeof value === 'string' && value !== ''
    ? value
    : refuse(name, `\`${name}\` is required, as text`)
}
