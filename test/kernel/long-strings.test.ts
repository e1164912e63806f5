import * as fc from 'fast-check'
import t from 'tap'
import { parseLifting } from '../../src/kernel/long-strings.ts'

/** The parsed value with what was lifted put back. */
function whole(json: string, shortestBytes = 32 * 1024): unknown {
  const { value, bytesOf } = parseLifting(Buffer.from(json), { shortestBytes })
  const restored = (part: unknown): unknown => {
    if (typeof part === 'string') {
      const bytes = bytesOf(part)
      return bytes === undefined ? part : Buffer.from(bytes).toString()
    }
    if (Array.isArray(part)) return part.map(restored)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, inner]) => [restored(name), restored(inner)]),
    )
  }
  return restored(value)
}

void t.test('whatever is lifted, the value is that of JSON.parse', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 8 }), (value, shortest) => {
      const json = JSON.stringify(value)
      t.strictSame(whole(json, shortest), JSON.parse(json))
    }),
    { numRuns: 300 },
  )
  t.end()
})

void t.test('long strings stay bytes of the body, escaped ones are parsed', (t) => {
  const base64 = 'QUJD'.repeat(20_000)
  const body = Buffer.from(JSON.stringify({ data: [{ b64_json: base64 }], note: 'short' }))
  const { value, bytesOf } = parseLifting(body)
  const [item] = (value as { data: { b64_json: string }[] }).data
  const bytes = bytesOf(item?.b64_json ?? '')
  t.equal(Buffer.from(bytes ?? '').toString(), base64)
  t.equal(bytes?.buffer, body.buffer, 'not copied')
  t.match(value, { note: 'short' })
  const escaped = JSON.stringify({ text: `"${base64}\\` }).replaceAll('QU', '\\u0051U')
  t.strictSame(whole(escaped), JSON.parse(escaped))
  const accented = JSON.stringify({ text: `é${base64}` })
  t.equal(parseLifting(Buffer.from(accented)).bytesOf(accented), undefined)
  t.strictSame(whole(accented), JSON.parse(accented))
  t.throws(() => parseLifting(Buffer.from(`"${base64}\n${base64}"`)), SyntaxError)
  t.end()
})

void t.test('what is no JSON is refused, and a mark cannot be forged', (t) => {
  for (const json of ['', '"', '{"a":"b', '{"a":"b\\"}', '{"a" "b"}', `["${'x'.repeat(40_000)}"`])
    t.throws(() => parseLifting(Buffer.from(json)), SyntaxError)
  t.equal(parseLifting(Buffer.from('"a"')).bytesOf('00000000-0000 0'), undefined)
  t.end()
})
