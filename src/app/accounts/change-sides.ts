/** Both sides of a change in words: only what differs, each with its name. */

/** A side in an answer is no longer than this. */
const MAX_SIDE_CHARACTERS = 500

/** Members that name an item of a list, so that it is compared with the same one and not with its neighbour. */
const naming = ['subject', 'kind', 'userId', 'tokenId', 'sku', 'currency', 'period'] as const

/** `requestsPerMinute` as `requests per minute`. */
const inWords = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

/** The name of an item of a list, such as `text-basic-output-token USD`. */
function nameOf(item: Readonly<Record<string, unknown>>): string {
  return naming
    .flatMap((name) => {
      const value = item[name]
      if (typeof value === 'string') return [value]
      return typeof value === 'object' && value !== null ? [nameOf({ ...value })] : []
    })
    .filter((text) => text !== '')
    .join(' ')
}

/** Every figure and text of a value by its name; items of lists are named by what they are about. */
function leavesOf(value: unknown, path: string, into: Map<string, string>): void {
  if (value === undefined || value === null) return
  if (Array.isArray(value)) {
    for (const [n, item] of value.entries()) {
      const isNamed = typeof item === 'object' && item !== null
      const name = isNamed ? nameOf({ ...item }) : ''
      // The list is named where its items are not.
      const at = name === '' ? `${path}${isNamed ? ` ${n + 1}` : ''}` : name
      if (isNamed) leavesOf(item, at, into)
      else into.set(at, [into.get(at), String(item)].filter(Boolean).join(' '))
    }
    return
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    into.set(path, `${value}`)
    return
  }
  for (const [name, member] of Object.entries(value))
    if (!(naming as readonly string[]).includes(name))
      leavesOf(member, [path, inWords(name)].filter(Boolean).join(' '), into)
}

function shortened(parts: readonly string[]): string {
  const text = parts.join(', ')
  if (text.length <= MAX_SIDE_CHARACTERS) return text
  const shown: string[] = []
  let length = 0
  for (const part of parts) {
    length += part.length + 2
    if (length > MAX_SIDE_CHARACTERS - 20) break
    shown.push(part)
  }
  if (shown.length === 0) return `${text.slice(0, MAX_SIDE_CHARACTERS - 1)}…`
  return `${shown.join(', ')} and ${parts.length - shown.length} more`
}

/** The two sides of a change; null: nothing was or is set. */
export interface Sides {
  readonly from: string | null
  readonly to: string | null
}

/** What differs between two values, in words, at most 500 characters a side. */
export function differenceOf(before: unknown, after: unknown): Sides {
  const [was, is] = [new Map<string, string>(), new Map<string, string>()]
  leavesOf(before, '', was)
  leavesOf(after, '', is)
  const side = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) => {
    const parts = [...one].flatMap(([name, text]) =>
      other.get(name) === text ? [] : [name === '' ? text : `${name} ${text}`],
    )
    return parts.length === 0 ? null : shortened(parts)
  }
  return { from: side(was, is), to: side(is, was) }
}
