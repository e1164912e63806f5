import * as fc from 'fast-check'
import t from 'tap'
import {
  exactInteger,
  isExactInteger,
  parseExactly,
  withExactIntegers,
} from '../../src/kernel/exact-integers.ts'
import { isJsonObject } from '../../src/kernel/json.ts'
import { atOnce } from '../../src/kernel/turns.ts'
import { isLargeJson, writeJson } from '../../src/kernel/write-json.ts'
import { InBase64, jsonInPieces, sentInTurns } from '../../src/families/kit/http/json.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

/** Integers from 2^53 on, either sign. */
const large = fc
  .bigInt({ min: 2n ** 53n, max: 10n ** 30n })
  .chain((value) => fc.constantFrom(String(value), String(-value)))

t.test('a parsed text is written with its digits, where the engine can', (t) => {
  fc.assert(
    fc.property(large, fc.integer(), fc.string(), (digits, small, name) => {
      const text = JSON.stringify({ [name]: [small, { a: '1234567890123456789' }, 1.5e-7] })
      const whole = `{"z":[${digits},${text}]}`
      const back = JSON.stringify(parseExactly(whole))
      return back === (exactInteger === undefined ? JSON.stringify(JSON.parse(whole)) : whole)
    }),
    { numRuns: propertyRuns(200) },
  )
  const plain = { a: 1 }
  t.equal(withExactIntegers(plain, '{"a":1}'), plain, 'the same object where there are none')
  const doubles = '{"a":[1.7976931348623157e+308,3.4028234663852886e+38,9007199254740991]}'
  t.equal(JSON.stringify(parseExactly(doubles)), doubles)
  t.throws(() => parseExactly('{"a":12345678901234567890'), SyntaxError)
  t.end()
})

t.test('JSON written in turns has the same digits', async (t) => {
  const member = { maximum: exactInteger?.('9223372036854775807') ?? 1 }
  const large = { a: 'x'.repeat(200_000), b: Array.from({ length: 2_000 }, () => member) }
  let written = ''
  const isWritten = atOnce(writeJson(large, (part) => void (written += part)))
  t.ok(isWritten && isLargeJson(large))
  t.ok(written === JSON.stringify(large))
  const { body } = await sentInTurns(large)
  t.ok(Buffer.concat([...(body as Iterable<Uint8Array>)]).toString('utf8') === written)
  const pieces = jsonInPieces({ ...member, media: new InBase64(Buffer.from('abc')) })
  const inPieces = Buffer.concat([...pieces.pieces]).toString('utf8')
  t.equal(inPieces, JSON.stringify({ ...member, media: 'YWJj' }))
})

t.test('an exact integer is not a JSON object, and no object passes as one', (t) => {
  t.notOk(isExactInteger({ rawJSON: '1' }))
  t.notOk(isExactInteger(Object.assign(Object.create(null), { rawJSON: '1' }) as object))
  t.ok(isJsonObject({ rawJSON: '1' }))
  const one = exactInteger?.('9223372036854775807')
  if (one === undefined) t.match(process.version, /^v2[01]\./, 'older engines have none')
  else t.ok(isExactInteger(one) && !isJsonObject(one))
  t.end()
})
