import type { JsonObject } from '../../../src/kernel/json.ts'
import { chatRules } from '../../../src/families/chat/rules/wire.ts'
import { messagesRules } from '../../../src/families/messages/rules/wire.ts'
import { nativeRules } from '../../../src/families/native/rules/wire.ts'
import { responsesRules } from '../../../src/families/responses/rules/wire.ts'

/** Every wire of text, by its family. */
export const wires = {
  chat: chatRules,
  responses: responsesRules,
  native: nativeRules,
  messages: messagesRules,
}

export type TextFamily = keyof typeof wires
export const textFamilies: readonly TextFamily[] = ['chat', 'responses', 'native', 'messages']

/** The body of an answer, which may be text. */
export function bodyOf(answer: { readonly body: JsonObject | string } | undefined): JsonObject {
  const body = answer?.body ?? {}
  return typeof body === 'string' ? (JSON.parse(body) as JsonObject) : body
}
