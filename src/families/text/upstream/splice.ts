/** The place of the value of a member in the JSON text of an object. */
interface Span {
  readonly from: number
  readonly to: number
}

const QUOTE = 0x22
const OPEN_BRACE = 0x7b
const OPEN_BRACKET = 0x5b
const COMMA = 0x2c

/** The index after a string that begins at `at`. */
function afterString(text: string, at: number): number {
  for (let from = at; ;) {
    const end = text.indexOf('"', from + 1)
    if (end === -1) return text.length
    let slashes = 0
    while (text[end - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return end + 1
    from = end
  }
}

/** The name in a string of JSON, with its quotes. */
function nameIn(written: string): string {
  return written.includes('\\') ? String(JSON.parse(written)) : written.slice(1, -1)
}

/** The span of a value without the blanks around it. */
function withoutBlanks(text: string, from: number, to: number): Span {
  const value = text.slice(from, to)
  const begin = to - value.trimStart().length
  return { from: begin, to: begin + value.trim().length }
}

/** The spans of these members of an object in valid JSON; of a name that stands twice, the last. */
function spansOf(text: string, names: readonly string[]): ReadonlyMap<string, Span> {
  const structure = /["{}[\],]/g
  const spans = new Map<string, Span>()
  let depth = 0
  let name: string | undefined
  let from = 0
  for (let found = structure.exec(text); found !== null; found = structure.exec(text)) {
    const { index: at } = found
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const end = afterString(text, at)
      structure.lastIndex = end
      if (depth !== 1 || name !== undefined) continue
      name = nameIn(text.slice(at, end))
      from = text.indexOf(':', end) + 1
      structure.lastIndex = from
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
    else {
      if (depth === 1 && name !== undefined) {
        if (names.includes(name)) spans.set(name, withoutBlanks(text, from, at))
        name = undefined
      }
      if (code !== COMMA) depth -= 1
    }
  }
  return spans
}

/** The JSON of a member's value, or undefined where the member stays as it is. */
type Replacement = string | ((json: string) => string | undefined)

/**
 * The JSON text of an object with other values of some of its members. A member that is not there is
 * not added. Every other byte stays: the order of names, digits, escapes and white space.
 */
export function spliced(json: string, values: Readonly<Record<string, Replacement>>): string {
  const spans = [...spansOf(json, Object.keys(values))].toSorted(([, a], [, b]) => a.from - b.from)
  let result = ''
  let at = 0
  for (const [name, { from, to }] of spans) {
    const value = values[name]
    const written = typeof value === 'function' ? value(json.slice(from, to)) : value
    if (written === undefined) continue
    result += json.slice(at, from) + written
    at = to
  }
  return result + json.slice(at)
}
