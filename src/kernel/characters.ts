/**
 * Whether a text has more characters than that. A character is a code point: one beyond the first
 * plane is two units of a string.
 */
export function isLongerThan(text: string, maxCharacters: number): boolean {
  if (text.length <= maxCharacters) return false
  if (text.length > 2 * maxCharacters) return true
  let characters = 0
  for (const _ of text) characters += 1
  return characters > maxCharacters
}
