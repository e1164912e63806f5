import t from 'tap'
import { answeredWith } from '../../../../src/families/text/upstream/answer-differences.ts'

const request = (upstreamModel: string, body: Record<string, unknown> = {}) => ({
  model: 'ours',
  upstreamModel,
  callId: 'call_01JD0000000000000000000002',
  body,
  largest: { outputTokens: 8_192, bytesOfLogprobs: 0, hasMedia: false },
  keptId: (_kind: string, upstreamId: string) => upstreamId,
})

function otherModel(asked: string, answered: unknown): string | undefined {
  const said = answeredWith(request(asked))
  said.note({ model: answered })
  return said.otherwise().answeredOtherwise?.model
}

t.test('a version of the requested model counts as that model', (t) => {
  for (const [asked, answered] of [
    ['gpt-5-mini', 'gpt-5-mini'],
    ['gpt-5-mini', 'gpt-5-mini-2025-08-07'],
    ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
    ['gpt-4', 'gpt-4-0613'],
    ['chat-latest', 'chat-20260101'],
    ['openai/GPT-5', 'gpt-5'],
    ['models/gemini-3-pro-preview', 'gemini-3-pro-preview-11-2025'],
    ['ep-20260101000000-abcde', 'doubao-pro-32k'],
    ['gpt-5', undefined],
    ['gpt-5', 7],
  ] as const)
    t.equal(otherModel(asked, answered), undefined, `${asked} ${String(answered)}`)
  t.end()
})

t.test('another model is reported in upstream’s words, shortened', (t) => {
  t.equal(otherModel('gpt-5', 'gpt-5-mini'), 'gpt-5-mini')
  t.equal(otherModel('gpt-5-mini', 'gpt-5'), 'gpt-5')
  t.equal(otherModel('gpt-5', 'other/GPT-4o'), 'other/GPT-4o')
  t.equal(otherModel('gpt-5', 'x'.repeat(10_000))?.length, 200)
  t.end()
})

t.test('the last frame with a model or tier counts, compared with the request', (t) => {
  const said = answeredWith(request('gpt-5', { service_tier: 'flex' }))
  t.same(said.otherwise(), {})
  said.note({ model: 'gpt-5', serviceTier: 'default' })
  t.same(said.otherwise(), { answeredOtherwise: { serviceTier: 'default' } })
  said.note({ model: 'gpt-5', serviceTier: 'flex' })
  said.note({})
  t.same(said.otherwise(), {})
  t.end()
})
