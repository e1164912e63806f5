import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic, { APIError as MessagesError } from '@anthropic-ai/sdk'
import { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI, { APIError } from 'openai'
import t from 'tap'
import type { CallView } from '../../infra/sandbox/calls/store.ts'
import { sharedStack } from '../helpers/stack.ts'
import { queriesOf } from './support/client.ts'
import { owed } from './support/text-owed.ts'

/** Official clients as their users have them, with their own retries: what is tried again, and what each call costs. */

const stack = await sharedStack(t)
const { url, demo, sandbox } = stack
const finance = queriesOf(url, demo.queryToken)
const apiKey = demo.modelToken
const anthropic = new Anthropic({ baseURL: url, apiKey })
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey })
const ofMessages = createAnthropic({ baseURL: `${url}/v1`, apiKey })
const ofResponses = createOpenAI({ baseURL: `${url}/v1`, apiKey })

let named = 0
const name = () => `official-${(named += 1)}`
const recordsOf = (marker: string): readonly CallView[] => sandbox.calls({ client_marker: marker })

/** Every line of the tenant since a position, by SKU. */
async function billedSince(since: string): Promise<Readonly<Record<string, number>>> {
  await stack.caughtUp()
  const { items } = (await finance.lines(`limit=100&since=${since}`)).body.data
  const sums: Record<string, number> = {}
  for (const { sku, quantity } of items as readonly { sku: string; quantity: number }[])
    sums[sku] = (sums[sku] ?? 0) + quantity
  return sums
}

async function position(): Promise<string> {
  await stack.caughtUp()
  return (await finance.lines('limit=1')).body.data.as_of
}

/** The sum that the records of a marker owe. */
function owedBy(marker: string): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const record of recordsOf(marker))
    for (const [sku, quantity] of Object.entries(owed(record)))
      sums[sku] = (sums[sku] ?? 0) + quantity
  return sums
}

const tools = {
  weather: tool({
    inputSchema: jsonSchema<{ readonly city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }),
    execute: ({ city }) => `rain in ${city}`,
  }),
}

t.test(
  'thinking and tools of messages go back and forth by themselves, whole and streamed',
  async (t) => {
    for (const streamed of [false, true]) {
      const [marker, since] = [name(), await position()]
      const asked = {
        model: ofMessages('text-cache'),
        tools,
        stopWhen: stepCountIs(4),
        maxOutputTokens: 2_048,
        system: 'Be short.',
        prompt: `Weather? [[sandbox tool=weather thoughts]][[client=${marker}]]`,
        providerOptions: {
          anthropic: {
            thinking: { type: 'enabled', budgetTokens: 1_024 },
            cacheControl: { type: 'ephemeral' },
          },
        },
      } as const
      const made = streamed ? streamText(asked) : await generateText(asked)
      const [steps, text, usage] = await Promise.all([made.steps, made.text, made.totalUsage])
      t.equal(steps.length, 2)
      t.match(steps[0], { finishReason: 'tool-calls', reasoningText: /Reading the question/ })
      t.match(steps[0]?.toolResults, [{ output: 'rain in sample' }])
      t.match(text, /\w/)
      t.equal(recordsOf(marker).length, 2, 'the signature of the thought was taken')
      const billed = await billedSince(since)
      t.same(billed, owedBy(marker))
      t.equal(usage.outputTokens, billed['text-cache-output-token'])
      t.equal(
        usage.inputTokens,
        recordsOf(marker).reduce((sum, record) => sum + record.usage.input_tokens, 0),
      )
    }
  },
)

t.test('a search of messages is offered by its client’s own tool, and billed', async (t) => {
  const [marker, since] = [name(), await position()]
  const made = await generateText({
    model: ofMessages('text-tools'),
    tools: { web_search: ofMessages.tools.webSearch_20250305({ maxUses: 3 }) },
    prompt: `News? [[sandbox tool=web_search tool-searches=2]][[client=${marker}]]`,
  })
  t.match(made.text, /\w/)
  const billed = await billedSince(since)
  t.equal(billed['web-search-call'], 2)
  t.same(billed, owedBy(marker))
})

/** Each client's shortest request, whole or streamed. */
const requests: readonly (readonly [
  client: string,
  family: string,
  ask: (prompt: string) => Promise<unknown>,
])[] = [
  [
    'messages',
    'messages',
    (content) =>
      anthropic.messages.create({
        model: 'text-basic',
        max_tokens: 64,
        messages: [{ role: 'user', content }],
      }),
  ],
  [
    'messages, streamed',
    'messages',
    (content) =>
      anthropic.messages
        .stream({ model: 'text-basic', max_tokens: 64, messages: [{ role: 'user', content }] })
        .finalMessage(),
  ],
  [
    'the other client of messages',
    'messages',
    (prompt) => generateText({ model: ofMessages('text-basic'), prompt }),
  ],
  ['responses', 'responses', (input) => openai.responses.create({ model: 'text-basic', input })],
  [
    'responses, streamed',
    'responses',
    (input) => openai.responses.stream({ model: 'text-basic', input }).finalResponse(),
  ],
  [
    'the other client of responses',
    'responses',
    (prompt) => generateText({ model: ofResponses.responses('text-basic'), prompt }),
  ],
]

/** The HTTP status of a client's error; clients that retry wrap the last one. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof MessagesError || error instanceof APIError) return error.status
  if (APICallError.isInstance(error)) return error.statusCode
  const { lastError } = Object(error)
  return lastError === undefined ? undefined : statusOf(lastError)
}

t.test('a provider that is overloaded once is asked again, and billed once', async (t) => {
  for (const [client, family, ask] of requests) {
    const [marker, since] = [name(), await position()]
    const { id } = sandbox.faults.add({
      faults: ['refuse=' + (family === 'messages' ? 'overloaded_error' : 'rate_limit_exceeded')],
      match: { client_marker: marker },
      once: 1,
    })
    await ask(`Hello [[client=${marker}]]`)
    sandbox.faults.clear(id)
    t.equal(recordsOf(marker).length, 1, client)
    t.same(await billedSince(since), owedBy(marker), client)
  }
})

/** This library looks at the status alone, and asks twice more. */
const RETRIES_ANYTHING = /^the other client/

t.test('a call whose outcome is unknown costs nothing, and is not sent again', async (t) => {
  for (const [client, , ask] of requests) {
    const [marker, since] = [name(), await position()]
    const error = await ask(`[[sandbox http-after-accept=500]] Hello [[client=${marker}]]`).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    t.equal(statusOf(error), 502, client)
    t.equal(recordsOf(marker).length, RETRIES_ANYTHING.test(client) ? 3 : 1, client)
    t.same(await billedSince(since), {}, client)
  }
})

t.test('a refused input is not sent again', async (t) => {
  for (const [client, family, ask] of requests) {
    const marker = name()
    // A second request would be answered.
    const { id } = sandbox.faults.add({
      faults: [`refuse=${family === 'messages' ? 'invalid_request_error' : 'invalid_value'}`],
      match: { client_marker: marker },
      once: 1,
    })
    const error = await ask(`Hello [[client=${marker}]]`).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    sandbox.faults.clear(id)
    t.equal(statusOf(error), 400, client)
    t.same(recordsOf(marker), [], client)
  }
})
