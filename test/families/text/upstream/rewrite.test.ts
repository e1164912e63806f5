import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import { createMemberRewriter } from '../../../../src/families/text/upstream/answer-differences.ts'

const rewrite = (json: string, name = 'model') =>
  createMemberRewriter(name, 'ours')(json, JSON.parse(json) as Record<string, unknown>)

t.test('only the value of the member changes, byte for byte', async (t) => {
  t.equal(
    rewrite('{"id":"1","model":"up-1","n":12345678901234567890,"choices":[ ]}'),
    '{"id":"1","model":"ours","n":12345678901234567890,"choices":[ ]}',
  )
  t.equal(rewrite('{ "model" : "up-1" }'), '{ "model" : "ours" }')
})

t.test('an absent member, or one that is no text, is unchanged', async (t) => {
  for (const json of [
    '{"a":1}',
    '{"model":null}',
    '{"model":7}',
    '{"a":{"model":"x"}}',
    '{"model":"ours"}',
  ])
    t.equal(rewrite(json), json)
})

t.test('a nested key, or a value equal to it, is unchanged', async (t) => {
  for (const json of [
    '{"args":{"model":"up-1"},"model":"up-1"}',
    '{"model":"up-1","args":{"model":"up-1"}}',
    '{"type":"model","model":"up-1"}',
    '{"text":"\\"model\\":\\"up-1\\"","model":"up-1"}',
  ]) {
    const before = JSON.parse(json) as Record<string, unknown>
    t.same(JSON.parse(rewrite(json)), { ...before, model: 'ours' })
  }
})

t.test('in any object only its own member changes', async (t) => {
  const name = fc.constantFrom('model', 'a', 'b')
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('model', 'up-1', 'x"model":"up-1', 1, null),
      fc.dictionary(name, tie('tree'), { maxKeys: 3 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }))
  fc.assert(
    fc.property(fc.dictionary(name, tree), fc.constantFrom(0, 1), (object, space) => {
      const json = JSON.stringify(object, null, space)
      const expected = typeof object['model'] === 'string' ? { ...object, model: 'ours' } : object
      return isDeepStrictEqual(JSON.parse(rewrite(json)), JSON.parse(JSON.stringify(expected)))
    }),
    { numRuns: 300 },
  )
  t.pass()
})
