import { RequestError } from '../request-error.ts'

/** Says where in a body a fault is: by the path of a member, or by line and column. */

/** An object or a list that is not complete. */
export interface Level {
  /** Undefined of an object. */
  readonly list: unknown[] | undefined
  readonly object: Record<string, unknown>
  /** The member that is read. */
  key: string
  members: number
  readonly isFree: boolean
}

/** The path of the member that is read. */
export function pathOf(levels: readonly Level[]): string {
  let path = ''
  for (const { list, key } of levels) {
    if (list !== undefined) path += `[${list.length}]`
    else if (key !== '') path += path === '' ? key : `.${key}`
  }
  return path.slice(0, 256)
}

/** A text is not JSON; its reader knows where. */
export class NotJson extends Error {}

export function notJson(): never {
  throw new NotJson()
}

/** The refusal of a body that is not JSON; it never repeats a part of the body. */
export class NotJsonError extends RequestError {
  constructor(place = '') {
    super('body_invalid', `The request body is not valid JSON${place}`)
  }
}

/** Lines beyond so many characters are not counted. */
export const MAX_COUNTED_CHARACTERS = 1024 * 1024

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y

/** Index of the first character that a string may not have, from an index within the string on. */
function faultInString(text: string, from: number): number {
  let at = from
  while (at < text.length && at < MAX_COUNTED_CHARACTERS) {
    const code = text.charCodeAt(at)
    ESCAPE.lastIndex = at
    if (code < 0x20 || code === 0x22 || (code === 0x5c && !ESCAPE.test(text))) return at
    at = code === 0x5c ? ESCAPE.lastIndex : at + 1
  }
  return at
}

/** The refusal of a text; `at` is the index of the faulty token, or is within the faulty string. */
export function notJsonAt(text: string, at: number, isInString: boolean): NotJsonError {
  const isString = !isInString && text.charAt(at) === '"'
  const inString = isInString || isString ? faultInString(text, isString ? at + 1 : at) : at
  // A string that ends is a token at the wrong place.
  const fault = text.charAt(inString) === '"' ? at : inString
  if (fault >= MAX_COUNTED_CHARACTERS) return new NotJsonError()
  let line = 1
  let start = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < fault; end = text.indexOf('\n', start)) {
    line += 1
    start = end + 1
  }
  const end = fault >= text.length ? ', where it ends' : ''
  return new NotJsonError(`: line ${line}, column ${fault - start + 1}${end}`)
}
