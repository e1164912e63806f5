const OTHER_CHARACTER = { base64: /[^A-Za-z0-9+/]/, either: /[^A-Za-z0-9+/_-]/ }

/**
 * Whether a text is base64 of RFC 4648 without blanks, read through: decoding passes over what it
 * does not know. One foreign character is searched for, since a pattern that matches the whole text
 * can keep four bytes for each of its characters, and fails with 16 million.
 *
 * @param alphabet `either` takes the one for URLs too
 */
export function isBase64(text: string, alphabet: keyof typeof OTHER_CHARACTER = 'base64'): boolean {
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='))
  const digits = text.slice(0, text.length - padding)
  return digits !== '' && !OTHER_CHARACTER[alphabet].test(digits)
}
