import type { FastifyRequest } from 'fastify'
import type { JsonText } from '../../../kernel/json-text.ts'

/** Texts of bodies that go on as they came. */

const texts = new WeakMap<FastifyRequest, JsonText>()

/** The reader of a body calls this once, below a mount that keeps the text. */
export function rememberBodyText(request: FastifyRequest, text: JsonText): void {
  texts.set(request, text)
}

/** The text of a body, once: a long answer does not hold it. */
export function takeBodyText(request: FastifyRequest): JsonText | undefined {
  const text = texts.get(request)
  texts.delete(request)
  return text
}
