import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t from 'tap'
import {
  createIdRewriter,
  createMemberRewriter,
} from '../../../../src/families/text/upstream/answer-differences.ts'

const rewrite = (json: string, name = 'model') =>
  createMemberRewriter(name, 'ours')(json, JSON.parse(json) as Record<string, unknown>)

t.test('only the value of the member changes, byte for byte', async (t) => {
  t.equal(
    rewrite('{"id":"1","model":"up-1","n":12345678901234567890,"choices":[ ]}'),
    '{"id":"1","model":"ours","n":12345678901234567890,"choices":[ ]}',
  )
  t.equal(rewrite('{ "model" : "up-1" }'), '{ "model" : "ours" }')
})

t.test(
  'an absent member, or one that is no text, is unchanged; an empty text is set',
  async (t) => {
    for (const json of [
      '{"a":1}',
      '{"model":null}',
      '{"model":7}',
      '{"a":{"model":"x"}}',
      '{"model":"ours"}',
    ])
      t.equal(rewrite(json), json)
    t.equal(rewrite('{"model":"","a":1}'), '{"model":"ours","a":1}')
  },
)

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

/** The frames of one answer with the id of the gateway, and what upstream called it. */
function withId(...frames: readonly string[]) {
  const { rewrite: set, upstreamId } = createIdRewriter('id', 'ours')
  const shown = frames.map((json) => set(json, JSON.parse(json) as Record<string, unknown>))
  return { shown, upstreamId: upstreamId() }
}

t.test('an id that comes first is replaced in place, in every frame', async (t) => {
  const rest = '"n":1.0,"big":12345678901234567890,"calls":[{"id":"up-1"}] }'
  t.same(withId(`{"id":"up-1",${rest}`, `{"id":"up-1",${rest}`, `{"id":"up-2",${rest}`), {
    shown: [1, 2, 3].map(() => `{"id":"ours",${rest}`),
    upstreamId: 'up-1',
  })
  t.same(withId('\n{\n  "id" : "up-1",\n  "a": 1\n}\n').shown, [
    '\n{\n  "id" : "ours",\n  "a": 1\n}\n',
  ])
  t.same(
    withId('{"id":"a\\u00e9\\"b","a":1}').shown.map((one) => JSON.parse(one)),
    [{ id: 'ours', a: 1 }],
  )
})

t.test('an id in another place is replaced there, and an absent one is added first', async (t) => {
  t.same(withId('{"object":"chunk","id":"up-1","a":[ ]}').shown, [
    '{"object":"chunk","id":"ours","a":[ ]}',
  ])
  t.same(withId('{"a":[{"id":"x"}],"id":"x"}').shown, ['{"a":[{"id":"x"}],"id":"ours"}'])
  t.same(withId('{"a":[{"id":"x"}]}', ' {}', '{ }').shown, [
    '{"id":"ours","a":[{"id":"x"}]}',
    ' {"id":"ours"}',
    '{"id":"ours" }',
  ])
  t.same(withId('{"a":1,"id":null}', '{"id":7}'), {
    shown: ['{"a":1,"id":"ours"}', '{"id":"ours"}'],
    upstreamId: undefined,
  })
  t.same(withId('{"n":12345678901234567890, "1":1.50,"a":[{"id":"x"}],"id":"x"}').shown, [
    '{"n":12345678901234567890, "1":1.50,"a":[{"id":"x"}],"id":"ours"}',
  ])
})

t.test('an id that no record can keep is replaced and forgotten', async (t) => {
  for (const odd of ['', ' ', '\0', 'é', 'x'.repeat(10_000)]) {
    const { shown, upstreamId } = withId(JSON.stringify({ id: odd, a: 1 }))
    t.same(shown, ['{"id":"ours","a":1}'])
    t.equal(upstreamId, undefined)
  }
})

t.test('a member set by one rewriter stays when another writes the object again', async (t) => {
  const json = '{"model":"up-1","a":[{"id":"x","model":"up-1"}],"id":"x"}'
  const parsed = JSON.parse(json) as Record<string, unknown>
  const { rewrite: setId } = createIdRewriter('id', 'ours')
  const setModel = createMemberRewriter('model', 'ours')
  const expected = { ...parsed, model: 'ours', id: 'ours' }
  t.same(JSON.parse(setModel(setId(json, parsed), parsed)), expected)
  t.same(JSON.parse(setId(setModel(json, parsed), parsed)), expected)
})

t.test('in any answer only the id changes', async () => {
  const value = fc.jsonValue({ maxDepth: 2 })
  const member = fc.tuple(fc.constantFrom('id', 'a', 'b', 'choices'), value)
  fc.assert(
    fc.property(fc.array(member, { maxLength: 4 }), fc.constantFrom(0, 2), (members, space) => {
      const object = Object.fromEntries(members)
      const [shown = ''] = withId(JSON.stringify(object, null, space)).shown
      return isDeepStrictEqual(
        JSON.parse(shown),
        JSON.parse(JSON.stringify({ ...object, id: 'ours' })),
      )
    }),
    { numRuns: 500 },
  )
})
