import * as fc from 'fast-check'
import t from 'tap'
import {
  MAX_FREE_MEMBERS,
  MAX_JSON_DEPTH,
  MAX_JSON_MEMBERS,
  MAX_KEPT_TEXT_VALUES,
} from '../../../../src/api/kit/bodies/json-bounds.ts'
import { readStrictJson } from '../../../../src/api/kit/bodies/strict-json.ts'
import { JsonText, type Span } from '../../../../src/kernel/json-text.ts'
import { atOnce } from '../../../../src/kernel/turns.ts'

function read(text: string): { readonly value: unknown; readonly text: JsonText } {
  const spans = new Map<string, Span>()
  const value = atOnce(readStrictJson(text, true, spans))
  return { value, text: new JsonText(text, Buffer.byteLength(text), spans) }
}

/** The text with replaced values; the stated length is that of its bytes. */
function written(text: string, values: Readonly<Record<string, string | number>>): string {
  const { parts, lengthBytes } = read(text).text.with(values)
  const whole = parts.join('')
  if (Buffer.byteLength(whole) !== lengthBytes) throw new Error(`${lengthBytes} bytes of ${whole}`)
  return whole
}

const blank = fc.constantFrom('', '', '', ' ', '\n  ', '\t', '\r\n')
/** A character as JSON may write it. */
const character = fc.oneof(
  fc.constantFrom('a', 'é', '😀', '한', '{', ']', ',', ':', '\\"', '\\\\', '\\/', '\\n'),
  fc.constantFrom('\\u0041', '\\ud83d\\ude00', '\\u0000', '\\ud800', ' '),
)
const string = fc.array(character, { maxLength: 8 }).map((characters) => `"${characters.join('')}"`)
const number = fc.oneof(
  fc.constantFrom('0', '-0', '1.50', '1.0', '1e3', '1E+400', '-2.5e-7', '9007199254740993'),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
)
/** Names that are numbers change their order in an object. */
const name = fc.oneof(
  fc.nat({ max: 40 }).map((index) => `"${index}"`),
  fc.constantFrom('"model "', '"max_tokens\\u0020"', '"a"', '"\\u0062"', '"é"', '""'),
)
const listed = (items: readonly string[], [open, close]: readonly [string, string]): string =>
  `${open}${items.join(',')}${close}`
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc
    .tuple(
      blank,
      fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.oneof(string, number, fc.constantFrom('true', 'false', 'null')),
        fc.array(tie('value'), { maxLength: 4 }).map((items) => listed(items, ['[', ']'])),
        fc
          .uniqueArray(fc.tuple(name, blank, tie('value')), {
            maxLength: 4,
            selector: ([written]) => String(JSON.parse(written)),
          })
          .map((members) =>
            listed(
              members.map(([key, before, written]) => `${key}${before}:${written}`),
              ['{', '}'],
            ),
          ),
      ),
      blank,
    )
    .map((parts) => parts.join('')),
}))

/** Spellings of the members that are replaced. */
const own = fc.constantFrom('"model"', '"mod\\u0065l"')
const bound = fc.constantFrom('"max_tokens"', '"\\u006dax_tokens"')

void t.test('20,000 bodies keep every byte but two values', async (t) => {
  let bodies = 0
  const members = fc.tuple(
    fc.uniqueArray(fc.tuple(name, value), {
      maxLength: 5,
      selector: ([written]) => String(JSON.parse(written)),
    }),
    fc.tuple(own, fc.constantFrom('"ours"', ' "m\\u006f" ', '"😀"')),
    fc.tuple(bound, fc.constantFrom('4096', '\n4.096e3', ' 100000000000000000000 ')),
    fc.nat(),
    fc.nat(),
  )
  fc.assert(
    fc.property(members, blank, ([others, model, largest, one, other], around) => {
      const all: (readonly [string, string])[] = [...others]
      all.splice(one % (all.length + 1), 0, model)
      all.splice(other % (all.length + 1), 0, largest)
      const textOf = (replaced: ReadonlyMap<unknown, string>): string => {
        const parts = all.map((member) => {
          const [key, before] = member
          const after = replaced.get(member)
          const inBlanks = after === undefined ? before : before.replace(before.trim(), () => after)
          return `${key}:${inBlanks}`
        })
        return `${around}{${parts.join(',')}}${around}`
      }
      const text = textOf(new Map())
      if (written(text, {}) !== text) throw new Error(`${text} did not stay`)
      const expected = textOf(
        new Map<unknown, string>([
          [model, '"their-😀"'],
          // The same number stays as it is written.
          [largest, Number(largest[1]) === 4_096 ? largest[1].trim() : '4096'],
        ]),
      )
      const replaced = written(text, { max_tokens: 4_096, model: 'their-😀' })
      if (replaced !== expected) throw new Error(`${text} became ${replaced}`)
      bodies += 1
    }),
    { numRuns: 20_000, seed: 70 },
  )
  t.equal(bodies, 20_000)
})

void t.test('numbers of any size are read as near as a double comes, at any depth', async (t) => {
  const text =
    '{"a":[{"input":{"id":12345678901234567890,"x":1e999}}],"b":-98765432109876543210,"c":1.50}'
  t.same(read(text).value, {
    a: [{ input: { id: 12_345_678_901_234_567_000, x: Number.POSITIVE_INFINITY } }],
    b: -98_765_432_109_876_540_000,
    c: 1.5,
  })
  t.equal(written(text, { c: 2 }), text.replace('1.50', '2'))
  t.throws(() => read(`{"a":${'9'.repeat(500)}}`), /too many digits/)
})

void t.test('form and bounds of a text that goes on are checked', async (t) => {
  const members = Array.from({ length: MAX_JSON_MEMBERS + 1 }, (_, at) => `"m${at}":1`).join(',')
  for (const [text, refused] of [
    ['{"a":1,"\\u0061":2}', /appears twice/],
    ['{"a":{"__proto__":1}}', /__proto__ is not accepted/],
    ['{"a":1,}', /not valid JSON: line 1, column 8/],
    ['{"a":01}', /not valid JSON/],
    ['['.repeat(MAX_JSON_DEPTH + 1), /deeper than 64/],
    [`[${'0,'.repeat(MAX_KEPT_TEXT_VALUES)}0]`, /more than 200000 values/],
    [`{"a":{${members}}}`, /at most 1000 members/],
  ] as const)
    t.throws(() => read(text), refused)
  t.ok(read(`{"messages":[{"input":{${members}}}]}`), 'arguments may have more')
  const names = Array.from({ length: MAX_FREE_MEMBERS }, (_, at) => `"m${at}":1`).join(',')
  t.ok(read(`{"input":{${names}}}`))
  t.throws(() => read(`{"input":{${names},"one":1}}`), /at most 50000 members/)
})

void t.test('200,000 values are read, in parts that let others go first', async (t) => {
  const work = readStrictJson(`[${'0,'.repeat(MAX_KEPT_TEXT_VALUES - 2)}0]`, true, new Map())
  let parts = 1
  while (work.next().done !== true) parts += 1
  // A value and its comma are two tokens.
  t.ok(parts >= (2 * MAX_KEPT_TEXT_VALUES) / 1_024, `${parts} parts`)
})

void t.test('a member that is not there cannot be replaced', async (t) => {
  t.throws(() => read('{"a":{"model":"x"},"b":["model"]}').text.with({ model: 'y' }), /no model/)
  t.throws(() => read('[{"model":"x"}]').text.with({ model: 'y' }), /no model/)
})
