import type { JsonObject } from '../../../src/kernel/json.ts'

/** Bodies with one fault each, made of bodies that are taken. */

const long = (letters: number): string => 'x'.repeat(letters)

/** What a member is set to, by what a list of refusals calls it. */
const values: Readonly<Record<string, unknown>> = {
  null: null,
  '""': '',
  '" "': ' ',
  '"x"': 'x',
  '"x×300"': long(300),
  '"x×9,000"': long(9_000),
  '"x×33,000"': long(33_000),
  NUL: 'a\u0000b',
  'lone surrogate': 'a\ud800b',
  '0': 0,
  '-1': -1,
  '1': 1,
  '1.5': 1.5,
  '5': 5,
  '11': 11,
  '1000': 1_000,
  '2^31': 2 ** 31,
  '1e300': 1e300,
  '"5"': '5',
  '"1024x1024"': '1024x1024',
  '"1:1"': '1:1',
  true: true,
  false: false,
  '[]': [],
  '[null]': [null],
  '["x"]': ['x'],
  '[1]': [1],
  '[{}]': [{}],
  '{}': {},
  '{"type":"x"}': { type: 'x' },
  '[{"type":"x"}]': [{ type: 'x' }],
  https: 'https://media.example.com/a.png',
  http: 'http://media.example.com/a.png',
  ftp: 'ftp://media.example.com/a.png',
  'own host': 'https://127.0.0.1/a.png',
  'data png': 'data:image/png;base64,iVBORw0KGgo=',
  'data text': 'data:text/plain,x',
  asset: 'asset://asset-20260102030405-abcde',
  '[https, https]': ['https://media.example.com/a.png', 'https://media.example.com/b.png'],
}

interface OddBody {
  /** Path of the member, such as `messages[0].role`. */
  readonly member: string
  /** What was done to it. */
  readonly change: string
  readonly body: JsonObject
}

type Path = readonly (string | number)[]
type Change = (holder: Record<string | number, unknown>, name: string | number) => void

export function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  const below = Array.isArray(value)
    ? value.map((one, index) => [index, one] as const)
    : Object.entries(typeof value === 'object' && value !== null ? value : {})
  return below.flatMap(([name, one]) => [[...at, name], ...pathsOf(one, [...at, name])])
}

export const inWords = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1)

/** A copy in which what a path leads to is changed. */
export function changed(body: JsonObject, path: Path, change: Change): JsonObject {
  const copy = structuredClone(body)
  const [name, ...above] = path.toReversed()
  // Arrays have their items by number as objects have their members by name.
  const holder = above.reduceRight<unknown>((value, part) => Reflect.get(Object(value), part), copy)
  change(holder as Record<string | number, unknown>, name ?? '')
  return copy
}

/**
 * Every member of a body left out, misspelled, or set to each odd value.
 *
 * @param body is taken as it is
 */
export function* oddBodies(body: JsonObject): Generator<OddBody> {
  for (const path of pathsOf(body)) {
    const member = inWords(path)
    const as = (change: string, how: Change): OddBody => ({
      member,
      change,
      body: changed(body, path, how),
    })
    if (typeof path.at(-1) === 'string') {
      yield as('left out', (holder, name) => void Reflect.deleteProperty(holder, name))
      yield as('misspelled', (holder, name) => {
        holder[`${name}z`] = holder[name]
        Reflect.deleteProperty(holder, name)
      })
    }
    for (const [change, value] of Object.entries(values))
      yield as(change, (holder, name) => {
        holder[name] = value
      })
    yield as('17 of it', (holder, name) => {
      const now = holder[name]
      holder[name] = Array.from({ length: 17 }, () => (Array.isArray(now) ? now[0] : now))
    })
  }
}
