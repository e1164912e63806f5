import * as fc from 'fast-check'
import t from 'tap'
import { parseJsonKeepingRaw } from '../../src/kernel/long-strings.ts'

/** The parsed value with its raw strings put back. */
function whole(json: string, shortestBytes = 32 * 1024, pieceBytes = 1 << 20): unknown {
  const bytes = Buffer.from(json)
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, n) =>
    bytes.subarray(n * pieceBytes, (n + 1) * pieceBytes),
  )
  const { value, rawStringOf } = parseJsonKeepingRaw(pieces, { shortestBytes })
  const restored = (part: unknown): unknown => {
    if (typeof part === 'string') return rawStringOf(part)?.toString() ?? part
    if (Array.isArray(part)) return part.map(restored)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(
      Object.entries(part).map(([name, inner]) => [restored(name), restored(inner)]),
    )
  }
  return restored(value)
}

void t.test('the parsed value equals JSON.parse, whichever strings stay raw', (t) => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.integer({ min: 0, max: 8 }),
      fc.integer({ min: 1, max: 9 }),
      (value, shortest, pieceBytes) => {
        const json = JSON.stringify(value)
        t.strictSame(whole(json, shortest, pieceBytes), JSON.parse(json))
      },
    ),
    { numRuns: 500 },
  )
  t.end()
})

void t.test('escapes are read correctly at any chunk boundary', (t) => {
  for (const json of ['"a\\\\"', '["\\\\\\"b","c"]', '{"\\"":"\\\\\\\\","é":"\\u00e9"}'])
    for (let pieceBytes = 1; pieceBytes < 12; pieceBytes += 1)
      for (const shortest of [0, 2])
        t.strictSame(whole(json, shortest, pieceBytes), JSON.parse(json), json)
  t.end()
})

void t.test('long strings stay bytes of the body, escaped ones are parsed', (t) => {
  const base64 = 'QUJD'.repeat(20_000)
  const body = Buffer.from(JSON.stringify({ data: [{ b64_json: base64 }], note: 'short' }))
  const { value, rawStringOf } = parseJsonKeepingRaw([
    body.subarray(0, 40_000),
    body.subarray(40_000),
  ])
  const [item] = (value as { data: { b64_json: string }[] }).data
  const text = rawStringOf(item?.b64_json ?? '')
  t.equal(text?.toString(), base64)
  t.equal(text?.slice(39_000, 41_000), base64.slice(39_000, 41_000))
  for (const piece of text?.pieces ?? []) t.equal(piece.buffer, body.buffer, 'not copied')
  t.match(value, { note: 'short' })
  const escaped = JSON.stringify({ text: `"${base64}\\` }).replaceAll('QU', '\\u0051U')
  t.strictSame(whole(escaped), JSON.parse(escaped))
  const accented = JSON.stringify({ text: `é${base64}` })
  t.equal(parseJsonKeepingRaw(Buffer.from(accented)).rawStringOf(accented), undefined)
  t.strictSame(whole(accented), JSON.parse(accented))
  t.throws(() => parseJsonKeepingRaw(Buffer.from(`"${base64}\n${base64}"`)), SyntaxError)
  t.end()
})

void t.test('invalid JSON is refused, and the mark of a raw string cannot be forged', (t) => {
  for (const json of ['', '"', '{"a":"b', '{"a":"b\\"}', '{"a" "b"}', `["${'x'.repeat(40_000)}"`])
    t.throws(() => parseJsonKeepingRaw(Buffer.from(json)), SyntaxError)
  t.equal(parseJsonKeepingRaw(Buffer.from('"a"')).rawStringOf('00000000-0000 0'), undefined)
  t.end()
})
