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

/** Characters that show nothing, or turn the direction of what follows, and halves of a character. */
const unprintable =
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]/u

/** Whether a text has 1 to that many characters, and shows each of them. */
export function isPrintable(text: string, maxCharacters: number): boolean {
  return text !== '' && !isLongerThan(text, maxCharacters) && !unprintable.test(text)
}
