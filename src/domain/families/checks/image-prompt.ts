import type { JsonObject } from '../../../kernel/json.ts'
import { own, refuse, text } from './fields.ts'

/** @throws RequestError when it is missing, empty or too long */
export function acceptPrompt(fields: JsonObject, maxCharacters: number): string {
  const value = own(fields, 'prompt')
  if (value === undefined) return refuse('prompt', '`prompt` is required')
  const prompt = text(value, 'prompt', maxCharacters)
  return prompt.trim() === '' ? refuse('prompt', '`prompt` must not be empty') : prompt
}
