import { readFileSync } from 'node:fs'
import { checkout } from './checkout.ts'

/** Calls that a page of the documentation prints, for a shell, and the answers it prints below them. */

/** The documented address of a gateway. */
const PRINTED_URL = 'http://127.0.0.1:8080'

export function pageText(path: string): string {
  return readFileSync(new URL(path, checkout), 'utf8')
}

/** All that a text prints for a shell, to be run against the gateway at this address. */
export function printedCalls(text: string, baseUrl: string): string {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
    .map(([, block = '']) => block)
    .join('\n')
    .replaceAll(PRINTED_URL, baseUrl)
}

/** The first call of a page and the answer below it; undefined where it does not begin with one. */
export function firstExample(text: string) {
  const found = /```sh\n([\s\S]*?)^```$\s*^```(json|text)\n([\s\S]*?)^```$/m.exec(text)
  if (found === null) return undefined
  const [whole, , kind = '', answer = ''] = found
  return {
    call: whole.slice(0, whole.indexOf('```', 3) + 4),
    answer: kind === 'json' ? (JSON.parse(answer) as unknown) : answer.trim(),
    /** Where it stands: a page begins with it. */
    lineNumber: text.slice(0, found.index).split('\n').length,
  }
}

/** Ids, times, and whether a worker has a task just now: of a printed one only its form has to come back. */
const forms: readonly RegExp[] = [
  /^[a-z]+[_-][0-9A-HJKMNP-TV-Z]{26}$/,
  /^cgt-\d{14}-[a-z0-9]{5}$/,
  /^\d{10,}$/,
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  /^(?:now|leased)$/,
]
/** Members that say where the log ends. */
const positions: ReadonlySet<string> = new Set(['as_of', 'position'])
const UNIX_SECONDS = 1_600_000_000
const MORE = '…'

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function isSameText(printed: string, got: unknown, name: string): boolean {
  if (typeof got !== 'string') return false
  if (positions.has(name) || forms.some((form) => form.test(printed))) {
    const form = positions.has(name) ? /^\d+$/ : forms.find((one) => one.test(printed))
    const prefixOf = (text: string): string => /^[a-z]+[_-]/.exec(text)?.[0] ?? ''
    return form?.test(got) === true && prefixOf(printed) === prefixOf(got)
  }
  const pattern = printed.split(MORE).map(escaped).join('[\\s\\S]*')
  return new RegExp(`^${pattern}$`).test(got)
}

/**
 * The first difference between an answer and the printed one; undefined if there is none. `…`
 * stands for any text, for further items of a list, and as a member for further members.
 */
export function difference(printed: unknown, got: unknown, path = ''): string | undefined {
  const differs = `${path || 'answer'}: ${JSON.stringify(printed)} is printed, ${JSON.stringify(got)} came`
  if (typeof printed === 'string') {
    const name = path.slice(path.lastIndexOf('.') + 1)
    return isSameText(printed, got, name) ? undefined : differs
  }
  if (typeof printed === 'number' && printed > UNIX_SECONDS)
    return typeof got === 'number' && got > UNIX_SECONDS ? undefined : differs
  if (typeof printed !== 'object' || printed === null || typeof got !== 'object' || got === null)
    return printed === got ? undefined : differs
  const isMore = Array.isArray(printed)
    ? ([, value]: readonly [string, unknown]) => value === MORE
    : ([name]: readonly [string, unknown]) => name === MORE
  const shown = Object.entries(printed).filter((entry) => !isMore(entry))
  const hasMore = Object.entries(printed).some(isMore)
  const members = new Map(Object.entries(got))
  if (Array.isArray(printed) !== Array.isArray(got)) return differs
  if (!hasMore && shown.length !== members.size) {
    const names = shown.map(([name]) => name)
    const further = [...members.keys()].filter((name) => !names.includes(name))
    return further.length > 0 ? `${path}: ${further.join(', ')} came too` : differs
  }
  for (const [name, value] of shown) {
    const found = difference(value, members.get(name), `${path}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}
