import type { CompletionUsage } from 'openai/resources/completions'
import type { ImagesResponse } from 'openai/resources/images'
import type { ResponseUsage } from 'openai/resources/responses/responses'
import t from 'tap'
import { offeredModels } from '../../../infra/sandbox/text/order.ts'
import { call, sandboxFor } from './client.ts'
import { CHAT, chatBody, chatStream, eventsIn, RESPONSES } from './text-client.ts'

const IMAGES = '/images/v1/images/generations'

/** Names of the members that a type requires, with those of its objects. */
type Required<Value> = {
  readonly [
    Name in keyof Value as undefined extends Value[Name] ? never : Name
  ]: Value[Name] extends number | string ? 'value' : Required<Value[Name]>
}

// A member that the official types come to require does not compile without a line here.
const ofChat: Required<CompletionUsage> = {
  prompt_tokens: 'value',
  completion_tokens: 'value',
  total_tokens: 'value',
}
const ofResponses: Required<ResponseUsage> = {
  input_tokens: 'value',
  input_tokens_details: { cached_tokens: 'value', cache_write_tokens: 'value' },
  output_tokens: 'value',
  output_tokens_details: { reasoning_tokens: 'value' },
  total_tokens: 'value',
}
const ofImages: Required<ImagesResponse.Usage> = {
  input_tokens: 'value',
  input_tokens_details: { image_tokens: 'value', text_tokens: 'value' },
  output_tokens: 'value',
  total_tokens: 'value',
}

/** Paths of the required members that a usage has not. */
function missing(usage: unknown, required: object, at = ''): readonly string[] {
  return Object.entries(required).flatMap(([name, inside]) => {
    const value: unknown = Reflect.get(Object(usage), name)
    if (typeof inside === 'object') return missing(value, inside, `${at}${name}.`)
    return Number.isSafeInteger(value) ? [] : [`${at}${name}`]
  })
}

void t.test('usage has every member that the official types require, of any model', async (t) => {
  const sandbox = await sandboxFor(t)
  const responses = (more: object) => ({ input: 'hello', ...more })
  for (const { name: model } of offeredModels) {
    const chat = await call(sandbox.url, 'POST', CHAT, chatBody('hello', { model }))
    t.same(missing(chat.json.usage, ofChat), [], `chat ${model}`)
    const streamed = await call(sandbox.url, 'POST', CHAT, chatStream('hello', { model }))
    const usages = eventsIn(streamed.text).flatMap(({ json }) => json?.usage ?? [])
    t.equal(usages.length, 1)
    t.same(missing(usages[0], ofChat), [], `streamed chat ${model}`)
    const whole = await call(sandbox.url, 'POST', RESPONSES, responses({ model }))
    t.same(missing(whole.json.usage, ofResponses), [], `responses ${model}`)
    const ended = await call(sandbox.url, 'POST', RESPONSES, responses({ model, stream: true }))
    const last = eventsIn(ended.text).at(-1)
    t.same(missing(last?.json.response.usage, ofResponses), [], `streamed responses ${model}`)
  }
  const images = { model: 'picture-2.5-flare-2026-09-08', prompt: 'a boat' }
  const made = await call(sandbox.url, 'POST', IMAGES, images)
  t.same(missing(made.json.usage, ofImages), [], 'images')
  const stream = { ...images, stream: true }
  const streamed = await call(sandbox.url, 'POST', IMAGES, stream)
  t.same(missing(eventsIn(streamed.text).at(-1)?.json.usage, ofImages), [], 'streamed images')
})
