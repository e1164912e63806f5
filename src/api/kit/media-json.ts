import { isUtf8 } from 'node:buffer'
import { isJsonObject } from '../../kernel/json.ts'
import { parseLifting } from '../../kernel/long-strings.ts'
import { RequestError } from './request-error.ts'
import { parseStrictJson } from './strict-json.ts'

const SCHEME = 'data:'

/**
 * As `parseStrictJson`, but long data URIs are left as the bytes of the body they stand in
 * (`AsciiText`): a body of media is neither made into text nor copied. Those with an escape are text.
 * @throws RequestError as `parseStrictJson`
 */
export function parseMediaJson(body: Buffer): unknown {
  // Told of the whole: what is read on is text already.
  if (!isUtf8(body)) throw new RequestError('body_invalid', 'The request body is not valid UTF-8')
  const { value, lifted } = parseLifting(body, {
    isWanted: (start) => start.toString('latin1', 0, SCHEME.length) === SCHEME,
    parse: (text) => parseStrictJson(Buffer.from(text)),
  })
  const restored = (part: unknown): unknown => {
    if (typeof part === 'string') return lifted(part) ?? part
    if (Array.isArray(part)) return part.map(restored)
    if (!isJsonObject(part)) return part
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, restored(inner)]))
  }
  return restored(value)
}
