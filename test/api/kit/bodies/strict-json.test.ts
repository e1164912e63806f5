import * as fc from 'fast-check'
import t from 'tap'
import { exactInteger } from '../../../../src/kernel/exact-integers.ts'
import { RequestError } from '../../../../src/api/kit/request-error.ts'
import { parseStrictJson } from '../../../../src/api/kit/bodies/json-body.ts'
import {
  MAX_JSON_DEPTH,
  MAX_JSON_MEMBERS,
  MAX_JSON_VALUES,
  MAX_TEXT_CHARACTERS,
} from '../../../../src/api/kit/bodies/json-bounds.ts'
import { character } from '../../../helpers/characters.ts'

function refusal(text: string | Buffer): {
  fault: string
  param: string | undefined
  message: string
} {
  try {
    parseStrictJson(typeof text === 'string' ? Buffer.from(text) : text)
  } catch (error) {
    if (error instanceof RequestError)
      return { fault: error.fault, param: error.param, message: error.message }
    throw error
  }
  throw new Error(`accepted ${String(text)}`)
}

void t.test('ordinary JSON is read as JSON.parse reads it', async (t) => {
  const texts = [
    '{"a":[1,-2.5,1e3,"x","\\"\\\\","\\u00e9\\ud83d\\ude00",null,true,{"b":{}}],"":{"":1}}',
    ' [ ] ',
    '"text"',
    '0.1',
    '-0',
    '9007199254740991',
    '{"constructor":{"name":1},"prototype":2,"toString":3}',
    '{"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":2}]}',
  ]
  for (const text of texts) t.same(parseStrictJson(Buffer.from(text)), JSON.parse(text), text)
})

void t.test('an empty body is refused with a message that says it is empty', async (t) => {
  t.match(refusal(''), { fault: 'body_empty' })
})

void t.test('text that is not JSON is refused', async (t) => {
  for (const text of [
    '{',
    '{"a":}',
    '[1,]',
    "{'a':1}",
    'NaN',
    '{"a":1}}',
    '"\\x"',
    '"a',
    '01',
    ' ',
    '}{',
    '{"a\\q":1}',
    '-',
    '\ufeff{}x',
  ])
    t.match(refusal(text), { fault: 'body_invalid', param: undefined }, text)
})

void t.test(
  'the refusal of text that is not JSON says the place, and repeats nothing',
  async (t) => {
    const places: Readonly<Record<string, string>> = {
      '{': 'line 1, column 2, where it ends',
      '{"a":1,}': 'line 1, column 8',
      '{\n  "a": 1,\n  "b": secret\n}': 'line 3, column 8',
      '{\r\n"a": 1\r\n"b": 2}': 'line 3, column 1',
      '{"a":[1,2}': 'line 1, column 10',
      '{"a":01}': 'line 1, column 7',
      '{"a":"x\ny"}': 'line 1, column 8',
      '{"a":"x\\qy"}': 'line 1, column 8',
      '{"a":"\\u00g0"}': 'line 1, column 7',
      '{"a":"\\"x","b\n":1}': 'line 1, column 14',
      '{"a":"open': 'line 1, column 11, where it ends',
      '{"ключ": "é🦊" x}': 'line 1, column 16',
      "{'secret':1}": 'line 1, column 2',
      '{"a":1}}': 'line 1, column 8',
      '{"a":1 secret': 'line 1, column 8',
    }
    for (const [text, place] of Object.entries(places)) {
      const { message } = refusal(text)
      t.equal(message, `The request body is not valid JSON: ${place}`, text)
    }
    const long = 'x'.repeat(300_000)
    t.match(refusal(`{"a":"${long}",\n"b":"${long}\ty"}`), { message: /: line 2, column 300006$/ })
    t.match(refusal(`{"a":"${long}",\n"b":tru}`), { message: /: line 2, column 5$/ })
    t.match(refusal(`{"a":"${long}${long}${long}${long}",\n}`), { message: /valid JSON$/ })
  },
)

void t.test('invalid UTF-8 is refused', async (t) => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
  ])
    t.match(refusal(Buffer.from(bytes)), { message: 'The request body is not valid UTF-8' })
})

void t.test('a key that appears twice is refused, naming its path', async (t) => {
  t.match(refusal('{"model":"a","model":"b"}'), { param: 'model' })
  t.match(refusal('{"a":{"b":[0,{"c":1,"c":1}]}}'), { param: 'a.b[1].c' })
  t.match(refusal('{"mod\\u0065l":"a","model":"b"}'), { param: 'model' }, 'also when escaped')
  t.match(refusal('{"":1,"":2}'), { message: 'A key appears twice in one object' })
})

void t.test('prototype keys are refused, also when escaped', async (t) => {
  t.match(refusal('{"__proto__":{}}'), { param: '__proto__' })
  t.match(refusal('{"a":[{"__pro\\u0074o__":1}]}'), { param: 'a[0].__proto__' })
  t.match(refusal('{"constructor":{"prototype":{}}}'), { param: 'constructor.prototype' })
})

void t.test('lone surrogates and NUL are refused in values and keys', async (t) => {
  t.match(refusal('{"a":"\\ud800"}'), {
    param: 'a',
    message: 'A string is not well-formed Unicode',
  })
  t.match(refusal('{"a":["x","\\udc00\\ud800"]}'), { param: 'a[1]' })
  t.match(refusal('{"\\udfff":1}'), { message: 'A string is not well-formed Unicode' })
  t.match(refusal('{"a":"x\\u0000"}'), {
    param: 'a',
    message: 'A string holds a NUL character: `a`',
  })
  t.same(parseStrictJson(Buffer.from('"\\\\ud800"')), '\\ud800', 'an escaped backslash is text')
})

void t.test('integers beyond 2^53 and numbers beyond every double are refused', async (t) => {
  for (const number of ['9007199254740992', '-9007199254740993', '1e999', '-1e400'])
    t.match(refusal(`{"a":[${number}]}`), { param: 'a[0]' }, number)
})

void t.test('members that are passed on to a provider keep integers beyond 2^53', async (t) => {
  const read = (text: string): unknown => parseStrictJson(Buffer.from(text), true)
  const large = '-9223372036854775808'
  const free = [
    `{"tools":[{"maximum":${large}}]}`,
    `{"messages":[{"tool_calls":[{"function":{"arguments":{"id":[${large}]}}}]}]}`,
    `{"contents":[{"parts":[{"functionResponse":{"response":{"id":${large}}}}]}]}`,
    `{"metadata":{"id":${large}}}`,
  ]
  for (const text of free) {
    t.throws(() => parseStrictJson(Buffer.from(text)), { message: /kept exactly/ }, 'it is stored')
    if (exactInteger === undefined) t.throws(() => read(text), { message: /Node 22/ })
    else t.equal(JSON.stringify(read(text)), text)
  }
  for (const text of [`{"a":${large}}`, `{"metadata":${large}}`, `{"tools":${large}}`])
    t.throws(() => read(text), { message: /kept exactly/ }, text)
  t.throws(() => read(`{"tools":[${'9'.repeat(310)}]}`), { message: /kept exactly/ })
})

void t.test('a number with a fraction or an exponent is read as a double', async (t) => {
  for (const number of [
    '0.1',
    '1.5e-300',
    '1e16',
    '9007199254740993.0',
    '3.4028234663852886e38',
    '-1.7976931348623157E+308',
  ])
    t.same(parseStrictJson(Buffer.from(`{"a":[${number}]}`)), { a: [Number(number)] }, number)
  t.match(refusal(`{"a":[0.${'1'.repeat(1_000_000)}]}`), { param: 'a[0]', message: /digits/ })
  t.match(refusal(`{"a":${'1'.repeat(1_000_000)}}`), { param: 'a', message: /range/ })
})

void t.test('nesting is bounded', async (t) => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  t.ok(parseStrictJson(Buffer.from(nested(MAX_JSON_DEPTH))))
  t.match(refusal(nested(MAX_JSON_DEPTH + 1)), { message: /deeper than 64/ })
  t.match(refusal('['.repeat(5_000_000)), { message: /deeper than 64/ })
  t.match(refusal('{"a":'.repeat(1_000_000)), { message: /deeper than 64/ })
})

void t.test('the number of values is bounded', async (t) => {
  t.match(refusal(`[${'0,'.repeat(MAX_JSON_VALUES + 1)}0]`), { message: /more than 50000 values/ })
  t.ok(parseStrictJson(Buffer.from(`[${'0,'.repeat(MAX_JSON_VALUES - 2)}0]`)))
})

const membersOf = (count: number): string =>
  Array.from({ length: count }, (_, at) => `"m${at}":1`).join(',')

void t.test('the members of an object are bounded, except inside free-form members', async (t) => {
  const [most, more] = [membersOf(MAX_JSON_MEMBERS), membersOf(MAX_JSON_MEMBERS + 1)]
  const message = 'An object may have at most 1000 members'
  t.ok(parseStrictJson(Buffer.from(`{${most}}`)))
  t.match(refusal(`{${more}}`), { fault: 'body_invalid', message, param: '' })
  t.match(refusal(`{"a":[0,{${more}}]}`), { message, param: 'a[1]' })
  for (const own of ['tools', 'metadata', 'args'])
    t.ok(parseStrictJson(Buffer.from(`{"a":{"${own}":[{"b":{${more}}}]}}`)), own)
  t.match(refusal(`{"tools":[],"a":{${more}}}`), { message, param: 'a' })
  t.match(refusal(`{"${'n'.repeat(1_025)}":1}`), { message: /name of a member/ })
  t.match(refusal(`{"${'n'.repeat(100_000)}":1}`), { fault: 'body_invalid' })
})

void t.test('text is bounded, media data is not', async (t) => {
  const base64 = 'AAAA'.repeat(MAX_TEXT_CHARACTERS / 4)
  for (const media of [base64, `data:image/png;base64,${base64}`])
    t.ok((parseStrictJson(Buffer.from(`{"a":"${media}"}`)) as { a: string }).a === media)
  for (const text of [
    `"${'a b '.repeat(MAX_TEXT_CHARACTERS / 4)}"`,
    ' '.repeat(MAX_TEXT_CHARACTERS),
  ])
    t.match(refusal(`[${text}]`), { fault: 'body_too_large', message: /not counting inline media/ })
})

void t.test('long strings are read as JSON.parse reads them, at any chunk boundary', async (t) => {
  const PIECE = 64 * 1024
  const ends = ['\\"', '\\\\', '\\u00e9', '\\ud83d\\ude00', '😀', '\\n\\\\\\"', 'é']
  for (const end of ends)
    for (let before = PIECE - 14; before <= PIECE + 1; before += 1) {
      const text = `{"a":"${'x'.repeat(before)}${end}${'y'.repeat(PIECE)}${end}"}`
      t.ok(JSON.stringify(parseStrictJson(Buffer.from(text))) === JSON.stringify(JSON.parse(text)))
    }
  for (const wrong of ['\\ud83d', '\\u0000', '\\ud83d\\u0041', '\n', '\\x', '\\u00g0'])
    for (let before = PIECE - 14; before <= PIECE + 1; before += 1)
      t.match(refusal(`"${'x'.repeat(before)}${wrong}${'y'.repeat(PIECE)}"`), {
        fault: 'body_invalid',
      })
  t.match(refusal(`"${'x'.repeat(3 * PIECE)}`), { fault: 'body_invalid' })
  t.match(refusal(`"${'x'.repeat(3 * PIECE)}\\`), { fault: 'body_invalid' })
})

void t.test('a large string is read whole', async (t) => {
  const media = 'A'.repeat(32 * 1024 * 1024)
  t.same((parseStrictJson(Buffer.from(`{"a":"${media}"}`)) as { a: string }).a.length, media.length)
})

void t.test('whatever JSON.stringify writes of safe values is read back', async (t) => {
  let read = 0
  const value = fc.jsonValue({ maxDepth: 6 }).filter((each) => {
    try {
      parseStrictJson(Buffer.from(JSON.stringify(each)))
      return true
    } catch (error) {
      // Only for a stated reason.
      if (!(error instanceof RequestError)) throw error
      return !/NUL|prototype|__proto__|Unicode|range/.test(error.message)
    }
  })
  fc.assert(
    fc.property(value, (each) => {
      const text = JSON.stringify(each)
      if (JSON.stringify(parseStrictJson(Buffer.from(text))) !== text) throw new Error(text)
      read += 1
    }),
    { numRuns: 2_000, seed: 11 },
  )
  t.equal(read, 2_000)
})

void t.test('any text is read as JSON.parse reads it or refused, and never hangs', async (t) => {
  let read = 0
  const token = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '1',
    '-1.5',
    'true',
    '"\\u0041"',
    ' ',
  )
  const text = fc.oneof(
    fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join('')),
    fc.string({ unit: character, maxLength: 40 }),
  )
  fc.assert(
    fc.property(text, (each) => {
      const bytes = Buffer.from(each)
      let value: unknown
      try {
        value = parseStrictJson(bytes)
      } catch (error) {
        if (error instanceof RequestError) return
        throw error
      }
      read += 1
      if (JSON.stringify(value) !== JSON.stringify(JSON.parse(bytes.toString())))
        throw new Error(each)
    }),
    { numRuns: 5_000, seed: 13 },
  )
  t.ok(read > 50, `${read} read`)
})
