import { setFlagsFromString } from 'node:v8'
import t from 'tap'
import { isBase64 } from '../../src/kernel/base64.ts'
import { isHex } from '../../src/kernel/hex.ts'

// What V8 does once a process has much compiled code: a pattern may then keep every step it took.
setFlagsFromString('--no-regexp-optimization')
t.teardown(() => setFlagsFromString('--regexp-optimization'))

t.test('base64 ends in two signs of padding at most', async (t) => {
  for (const text of ['A', 'AA==', 'AAA=', '+/09azAZ']) t.ok(isBase64(text), text)
  for (const text of ['', '=', '==', 'A===', 'A=A', ' AA', 'AA\n', 'A_', 'A-', 'Ä'])
    t.notOk(isBase64(text), text)
  t.ok(isBase64('_-+/', 'either'))
  t.notOk(isBase64('_-.', 'either'))
})

t.test('hexadecimal has whole bytes', async (t) => {
  for (const text of ['', '00', 'aBcDeF']) t.ok(isHex(text), text)
  for (const text of ['0', '0g', ' 0', '00\n\n']) t.notOk(isHex(text), text)
})

t.test('sixty-four million characters are read through', async (t) => {
  const text = 'a'.repeat(64 * 1024 * 1024)
  t.ok(isBase64(`${text}==`))
  t.notOk(isBase64(`${text}!`))
  t.ok(isBase64(text, 'either'))
  t.ok(isHex(text))
  t.notOk(isHex(`${text}0g`))
})
