import t from 'tap'
import { parseLossless } from '../../../../src/families/kit/http/json.ts'

t.test('an integer beyond 2^53 keeps all its digits as a string', async (t) => {
  t.same(parseLossless('{"id":9007199254740993,"n":-12345678901234567890}'), {
    id: '9007199254740993',
    n: '-12345678901234567890',
  })
})

t.test('digits inside strings, fractions and safe integers stay as they are', async (t) => {
  const text = '{"a":"9007199254740993 \\" 9007199254740993","b":1.5e3,"c":9007199254740991}'
  t.same(parseLossless(text), JSON.parse(text))
})

t.test('text that is not JSON throws', async (t) => {
  t.throws(() => parseLossless('9007199254740993x'), SyntaxError)
})
