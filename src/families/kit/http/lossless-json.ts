/** Strings whole, then numbers: so that digits inside strings are never touched. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const SHORTEST_UNSAFE_DIGITS = 16

/**
 * Parses JSON without losing digits: an integer beyond 2^53 comes back as the string of its
 * digits. @throws SyntaxError
 */
export function parseLossless(text: string): unknown {
  const quoted = text.replace(STRING_OR_NUMBER, (token) =>
    token.length >= SHORTEST_UNSAFE_DIGITS &&
    /^-?\d+$/.test(token) &&
    !Number.isSafeInteger(Number(token))
      ? `"${token}"`
      : token,
  )
  return JSON.parse(quoted)
}
