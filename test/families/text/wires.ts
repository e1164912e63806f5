import { chatRules } from '../../../src/families/chat/rules/wire.ts'
import { nativeRules } from '../../../src/families/native/rules/wire.ts'
import { responsesRules } from '../../../src/families/responses/rules/wire.ts'

/** Every wire of text, by its family. */
export const wires = { chat: chatRules, responses: responsesRules, native: nativeRules }

export type TextFamily = keyof typeof wires
export const textFamilies: readonly TextFamily[] = ['chat', 'responses', 'native']
