import * as fc from 'fast-check'
import t from 'tap'
import { atOnce } from '../../src/kernel/turns.ts'
import { isLargeJson, writeJson } from '../../src/kernel/write-json.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

function written(value: unknown): string | undefined {
  let text = ''
  return atOnce(writeJson(value, (part) => (text += part))) ? text : undefined
}

void t.test('JSON in parts is the text that JSON.stringify makes', async (t) => {
  const leaf = fc.oneof(fc.jsonValue(), fc.constant(undefined), fc.date({ noInvalidDate: true }))
  const long = fc.array(leaf, { minLength: 1_001, maxLength: 1_010 })
  const value = fc.oneof(
    leaf,
    fc.array(leaf, { maxLength: 130 }),
    fc.dictionary(fc.string(), fc.oneof(leaf, { arbitrary: long, weight: 1 })),
    fc.tuple(long, fc.dictionary(fc.string(), leaf)),
  )
  let large = 0
  fc.assert(
    fc.property(value, (each) => {
      if (written(each) !== JSON.stringify(each)) throw new Error('another text')
      if (isLargeJson(each)) large += 1
    }),
    { numRuns: propertyRuns(60), seed: 3 },
  )
  t.ok(large > 5, `${large} large values`)
  t.equal(written({ a: ['x'.repeat(70_000)], b: undefined, c: () => 1 })?.length, 70_010)
})

void t.test('no surrogate pair is divided at any chunk boundary', async (t) => {
  const piece = 64 * 1024
  for (const end of ['😀', '\ud83d', '\ude00', '"\\\n', '\ud83d😀'])
    for (let before = piece - 3; before <= piece + 1; before += 1) {
      const value = { a: `${'x'.repeat(before)}${end}${'y'.repeat(piece)}${end}` }
      t.ok(written(value) === JSON.stringify(value))
    }
})
