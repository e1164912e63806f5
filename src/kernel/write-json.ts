import type { Work } from './turns.ts'

/** Characters of a string that are written in one part. */
const PIECE_CHARACTERS = 64 * 1024
/** Items of a list that are written in one part, if they are small. */
const ITEMS_AT_ONCE = 25
/** A value with more characters of text, or more values within it, is written in parts. */
const MOST_VALUES = 1_000

/** Whether a value is too large to be written in one part. */
export function isLargeJson(value: unknown): boolean {
  let characters = 0
  let values = 0
  const isOver = (part: unknown): boolean => {
    values += 1
    if (typeof part === 'string') characters += part.length
    if (values > MOST_VALUES || characters > PIECE_CHARACTERS) return true
    if (typeof part !== 'object' || part === null) return false
    if (Array.isArray(part)) return part.some(isOver)
    for (const name in part) {
      characters += name.length
      if (isOver(Reflect.get(part, name))) return true
    }
    return false
  }
  return isOver(value)
}

function* writeString(text: string, write: (part: string) => void): Work<void> {
  write('"')
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + PIECE_CHARACTERS)
    // A pair of surrogates is written whole: half of it would be written as an escape.
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1
    write(JSON.stringify(text.slice(at, end)).slice(1, -1))
    at = end
    yield
  }
  write('"')
}

function* writeItems(items: readonly unknown[], write: (part: string) => void): Work<void> {
  if (!isLargeJson(items)) {
    write(JSON.stringify(items).slice(1, -1))
    yield
    return
  }
  for (const [at, item] of items.entries()) {
    if (at > 0) write(',')
    if (!(yield* writeJson(item, write))) write('null')
  }
}

/**
 * Writes the text that `JSON.stringify` makes of a value, part by part; false if it leaves the value
 * out.
 */
export function* writeJson(value: unknown, write: (part: string) => void): Work<boolean> {
  if (typeof value === 'string' && value.length > PIECE_CHARACTERS) {
    yield* writeString(value, write)
    return true
  }
  const isWhole = typeof value !== 'object' || value === null || 'toJSON' in value
  if (isWhole || !isLargeJson(value)) {
    const text = JSON.stringify(value) as string | undefined
    if (text !== undefined) write(text)
    yield
    return text !== undefined
  }
  if (Array.isArray(value)) {
    write('[')
    for (let at = 0; at < value.length; at += ITEMS_AT_ONCE) {
      const items: readonly unknown[] = value.slice(at, at + ITEMS_AT_ONCE)
      if (at > 0) write(',')
      yield* writeItems(items, write)
    }
    write(']')
    return true
  }
  let before = '{'
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || typeof member === 'function' || typeof member === 'symbol') continue
    write(`${before}${JSON.stringify(name)}:`)
    before = ','
    yield* writeJson(member, write)
  }
  write(before === '{' ? '{}' : '}')
  return true
}
