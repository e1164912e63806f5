import { Buffer } from 'node:buffer'
import t from 'tap'
import { decodeHex } from '../../src/kernel/hex.ts'
import { RawString } from '../../src/kernel/raw-string.ts'
import { atOnce } from '../../src/kernel/turns.ts'

t.test('hexadecimal is decoded in parts, wherever its pieces are cut', (t) => {
  const bytes = Buffer.from(Array.from({ length: 300_001 }, (_, n) => (n * 7) % 256))
  const digits = Buffer.from(bytes.toString('hex'))
  const raw = new RawString(
    digits.subarray(0, 1),
    digits.subarray(1, 100_000),
    digits.subarray(100_000),
  )
  for (const text of [raw, digits.toString(), digits.toString().toUpperCase()]) {
    let parts = 0
    const work = decodeHex(text)
    let step = work.next()
    for (; step.done !== true; step = work.next()) parts += 1
    t.equal(parts, 10)
    t.ok(step.value?.equals(bytes))
  }
  t.end()
})

t.test('what is not whole bytes is not decoded', (t) => {
  for (const text of ['0', '0g', 'g0', `${'00'.repeat(40_000)}0x`, `${'00'.repeat(40_000)}é0`])
    t.equal(atOnce(decodeHex(text)), undefined)
  t.same(atOnce(decodeHex('')), Buffer.alloc(0))
  t.end()
})
