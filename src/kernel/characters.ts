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

/** Whether two texts are canonically equal (Unicode NFC): `é` is one code point or two. */
export function isSameText(one: string, other: string): boolean {
  return one === other || one.normalize('NFC') === other.normalize('NFC')
}

/**
 * The form of a text that searches compare: NFKC without case, ß as ss, İ and ı as i. JavaScript has no case folding:
 * lower, upper and again lower case have the same effect, except for a dot behind an i and a sigma at the end of a word.
 */
export function searchForm(text: string): string {
  // The short way for most texts: lists of notes are folded one by one.
  if (!/[^ -~\n]/.test(text)) return text.toLowerCase()
  const folded = text.normalize('NFKC').toLowerCase().toUpperCase().toLowerCase()
  return folded.replaceAll('i\u0307', 'i').replaceAll('ς', 'σ').normalize('NFKC')
}
