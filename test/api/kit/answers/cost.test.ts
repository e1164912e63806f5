import t from 'tap'
import { costInLastFrame, withCost } from '../../../../src/api/kit/answers/answer-headers.ts'
import { partOf } from '../../../../src/api/kit/routes/surface.ts'
import { nativeDialect } from '../../../../src/families/native/surface/envelope.ts'

const cost = { amount: '0.5', currency: 'USD', priceBookVersion: '1', split: [] } as const
const member = '{"amount":"0.5","currency":"USD","price_book":"1","split":[]}'

t.test('the cost is added to the text of a JSON object, whose numbers keep their digits', (t) => {
  t.equal(withCost('{"n": 1.0}', cost), `{"n": 1.0,"cost":${member}}`)
  t.equal(
    withCost('{"n":12345678901234567890} \n', cost),
    `{"n":12345678901234567890,"cost":${member}}`,
  )
  t.equal(withCost('{ }', cost), `{"cost":${member}}`)
  t.equal(withCost('[1]', cost), '[1]')
  t.equal(withCost('{"n":1}', undefined), '{"n":1}')
  t.end()
})

t.test('the last frame shows the cost, whichever frames are left out after it', (t) => {
  const { frame, last } = costInLastFrame<string>((text, shown) =>
    text === 'drop' ? undefined : `${text}${shown?.amount ?? ''};`,
  )
  t.equal(frame('a'), 'a;')
  t.same([frame('b', cost), frame('c', cost), frame('drop', cost)], [undefined, 'b;', undefined])
  t.equal(last?.(cost), 'c0.5;')
  t.end()
})

t.test('a native frame has the cost in its usage, never inside a text that mentions usage', (t) => {
  const costOf = (data: string): unknown => {
    const dialect = nativeDialect()
    dialect.frame({ event: undefined, data, usageOnly: false }, cost)
    return JSON.parse(dialect.last?.(cost).slice(6) ?? '')
  }
  const of = JSON.parse(member)
  t.same(costOf('{"usageMetadata": {"total":1}}'), { usageMetadata: { cost: of, total: 1 } })
  t.same(costOf('{"usageMetadata":{}}'), { usageMetadata: {}, cost: of })
  t.same(costOf('{"a":1}'), { a: 1, cost: of })
  const text = JSON.stringify({ text: '"usageMetadata":{"a":1}', usageMetadata: { total: 1 } })
  t.same(costOf(text), { ...JSON.parse(text), usageMetadata: { cost: of, total: 1 } })
  const twice = '{"args":{"usageMetadata":{"a":1}},"usageMetadata":{"total":1}}'
  t.same(costOf(twice), { ...JSON.parse(twice), cost: of })
  t.end()
})

t.test('a path parameter stands for one name, never for a longer path', (t) => {
  const native = '/v1beta/models/{model}:generateContent'
  t.equal(partOf(native, '/v1beta/models/one:generateContent'), 'one')
  for (const other of [
    '/v1beta/models/:generateContent',
    '/v1beta/models/a/b:generateContent',
    '/v1beta/models/one:other',
    '/v1beta/models/{model',
    '',
  ])
    t.equal(partOf(native, other), undefined, other)
  t.equal(partOf('/v1/videos', '/v1/videos'), '')
  t.equal(partOf('/v1/videos', '/v1/videos/1'), undefined)
  t.end()
})
