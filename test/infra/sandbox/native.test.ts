import t from 'tap'
import { sandboxFor, type Loose } from './client.ts'
import { callOf, eventsIn, native, nativeBody, read } from './text-client.ts'

const GENERATE = 'generateContent'
const STREAM = 'streamGenerateContent?alt=sse'

void t.test('an answer omits zero members, and its total adds up', async (t) => {
  const sandbox = await sandboxFor(t)
  const reply = await native(sandbox, `text-basic:${GENERATE}`, nativeBody('hello'))
  t.equal(reply.status, 200)
  const { candidates, usageMetadata, modelVersion, responseId } = reply.json
  t.match(candidates[0], {
    content: { role: 'model', parts: [{ text: /\w/ }] },
    finishReason: 'STOP',
    index: 0,
  })
  t.equal(modelVersion, 'text-basic-2026-01-15')
  t.type(responseId, 'string')
  const answered = Math.ceil(Buffer.byteLength(candidates[0].content.parts[0].text) / 4)
  t.strictSame(usageMetadata, {
    promptTokenCount: 6,
    candidatesTokenCount: answered,
    totalTokenCount: 6 + answered,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: 6 }],
    candidatesTokensDetails: [{ modality: 'TEXT', tokenCount: answered }],
  })
})

void t.test('a stream has CRLF frames, cumulative usage, no [DONE]', async (t) => {
  const sandbox = await sandboxFor(t)
  const prompt = nativeBody('hi [[sandbox words=6]]')
  const reply = await native(sandbox, `text-reason:${STREAM}`, prompt)
  t.match(reply.headers.get('content-type'), /^text\/event-stream/)
  t.notMatch(reply.text, /DONE|event:|[^\r]\n/)
  const events = eventsIn(reply.text, '\r\n')
  t.equal(events.length, 7)
  const totals = events.map(({ json }) => json.usageMetadata.totalTokenCount)
  t.strictSame(
    totals,
    [...totals].sort((a, b) => a - b),
  )
  t.notOk('finishReason' in events[0]!.json.candidates[0])
  t.equal(events.at(-1)!.json.candidates[0].finishReason, 'STOP')
  const whole = await native(sandbox, `text-reason:${GENERATE}`, prompt)
  t.strictSame(events.at(-1)!.json.usageMetadata, whole.json.usageMetadata)
  const text = events.map(({ json }) => json.candidates[0].content.parts[0].text).join('')
  t.equal(text, whole.json.candidates[0].content.parts[0].text)

  const lf = await native(sandbox, `text-basic:${STREAM}`, nativeBody('hi [[sandbox lf]]'))
  t.notMatch(lf.text, /\r/)
  const array = await native(sandbox, 'text-basic:streamGenerateContent', nativeBody('hi'))
  t.ok(Array.isArray(array.json), 'without alt=sse it is one JSON array')
})

void t.test('thinking follows budget and level, and is shown on request', async (t) => {
  const sandbox = await sandboxFor(t)
  const think = async (config: object) => {
    const more = { generationConfig: { thinkingConfig: config } }
    return (await native(sandbox, `text-reason:${GENERATE}`, nativeBody('x', more))).json
  }
  t.notOk('thoughtsTokenCount' in (await think({ thinkingBudget: 0 })).usageMetadata)
  t.equal((await think({ thinkingBudget: -1 })).usageMetadata.thoughtsTokenCount, 64)
  const shown = await think({ thinkingLevel: 'high', includeThoughts: true })
  t.equal(shown.usageMetadata.thoughtsTokenCount, 128)
  const [thought, said] = shown.candidates[0].content.parts
  t.match(thought, { thought: true, text: /\w/ })
  t.match(said, { text: /\w/, thoughtSignature: /\w/ })
  t.notOk('thought' in said)
  const { promptTokenCount, candidatesTokenCount, totalTokenCount } = shown.usageMetadata
  t.equal(totalTokenCount, promptTokenCount + candidatesTokenCount + 128)
  const snake = {
    generation_config: { thinking_config: { thinking_level: 'LOW' }, max_output_tokens: 4 },
  }
  const { json } = await native(sandbox, `text-reason:${GENERATE}`, nativeBody('x', snake))
  t.match(json.usageMetadata, { thoughtsTokenCount: 32, candidatesTokenCount: 4 })
  t.equal(json.candidates[0].finishReason, 'MAX_TOKENS')
})

void t.test('functions are called and searches grounded', async (t) => {
  const sandbox = await sandboxFor(t)
  const parameters = {
    type: 'OBJECT',
    properties: { city: { type: 'STRING' } },
    required: ['city'],
  }
  const tools = [{ functionDeclarations: [{ name: 'weather', parameters }] }, { googleSearch: {} }]
  const toolConfig = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } }
  for (const target of [GENERATE, STREAM]) {
    const more = { tools, toolConfig }
    const reply = await native(sandbox, `text-tools:${target}`, nativeBody('x', more))
    const bodies =
      target === GENERATE ? [reply.json] : eventsIn(reply.text, '\r\n').map(({ json }) => json)
    const parts = bodies.flatMap((one) => one.candidates[0].content.parts)
    const called = parts.find((part: Loose) => part.functionCall !== undefined)
    t.match(called.functionCall, { name: 'weather', args: { city: 'sample' }, id: String })
    t.equal(bodies.at(-1).candidates[0].finishReason, 'STOP')
  }
  const asked = nativeBody('x [[sandbox tool=web_search tool-searches=2]] [[client=s]]', { tools })
  const { json } = await native(sandbox, `text-tools:${GENERATE}`, asked)
  t.equal(json.candidates[0].groundingMetadata.webSearchQueries.length, 2)
  t.match(json.candidates[0].groundingMetadata.groundingChunks, [{ web: { uri: /^https:/ } }])
  for (const tool of ['google_search_retrieval', 'enterpriseWebSearch']) {
    const older = nativeBody('x [[sandbox tool=web_search]]', { tools: [{ [tool]: {} }] })
    const { json: found } = await native(sandbox, `text-tools:${GENERATE}`, older)
    t.equal(found.candidates[0].groundingMetadata.webSearchQueries.length, 1, tool)
  }
  t.equal(json.usageMetadata.toolUsePromptTokenCount, 100)
  t.match(await callOf(sandbox, 's'), {
    usage: { tool_prompt_tokens: 100 },
    tool_calls: { web_search: 2 },
  })
})

void t.test('a blocked prompt has feedback and no candidates', async (t) => {
  const sandbox = await sandboxFor(t)
  const prompt = nativeBody('x [[sandbox blocked]] [[client=b]]')
  const { json, status } = await native(sandbox, `text-basic:${GENERATE}`, prompt)
  t.equal(status, 200)
  t.strictSame(json.promptFeedback, { blockReason: 'SAFETY' })
  t.notOk('candidates' in json)
  t.strictSame(Object.keys(json.usageMetadata), [
    'promptTokenCount',
    'totalTokenCount',
    'promptTokensDetails',
  ])
  t.match(await callOf(sandbox, 'b'), { outcome: 'blocked', success: true, usage_sent: true })
  const streamed = await native(
    sandbox,
    `text-basic:${STREAM}`,
    nativeBody('x [[sandbox blocked]]'),
  )
  const events = eventsIn(streamed.text, '\r\n')
  t.equal(events.length, 1)
  t.strictSame(events[0]!.json.promptFeedback, { blockReason: 'SAFETY' })
})

void t.test('media are counted by kind; a file by URL needs a model that reads it', async (t) => {
  const sandbox = await sandboxFor(t)
  const image = { inline_data: { mime_type: 'image/png', data: 'iVBORw0KGgo=' } }
  const audio = { inlineData: { mimeType: 'audio/mp3', data: 'SUQzBAA=' } }
  const contents = [{ parts: [{ text: 'what is it' }, image, audio] }]
  const { json } = await native(sandbox, `text-basic:${GENERATE}`, { contents })
  t.strictSame(json.usageMetadata.promptTokensDetails, [
    { modality: 'TEXT', tokenCount: 4 + 3 },
    { modality: 'IMAGE', tokenCount: 258 },
    { modality: 'AUDIO', tokenCount: 320 },
  ])
  const file = { file_data: { file_uri: 'https://files.example/clip.mp4', mime_type: 'video/mp4' } }
  const video = { contents: [{ parts: [{ text: 'what is it' }, file] }] }
  const taken = await native(sandbox, `gen-3-pro-preview-file:${GENERATE}`, video)
  t.equal(taken.status, 200)
  t.match(taken.json.usageMetadata.promptTokensDetails[1], { modality: 'VIDEO', tokenCount: 2580 })
  const refused = await native(sandbox, `text-basic:${GENERATE}`, video)
  t.match([refused.status, refused.json.error.status], [400, 'INVALID_ARGUMENT'])
})

void t.test(
  'a schema is answered with fitting JSON; cache reads are reported, writes are not',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const generationConfig = {
      responseMimeType: 'application/json',
      responseSchema: { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: 3 },
    }
    const formed = await native(
      sandbox,
      `text-basic:${GENERATE}`,
      nativeBody('x', { generationConfig }),
    )
    t.strictSame(JSON.parse(formed.json.candidates[0].content.parts[0].text), [1, 1, 1])
    const body = nativeBody('x', {
      systemInstruction: { parts: [{ text: 'be good '.repeat(50) }] },
    })
    const first = await native(sandbox, `text-cache:${GENERATE}`, body)
    t.notOk('cachedContentTokenCount' in first.json.usageMetadata)
    const second = await native(sandbox, `text-cache:${GENERATE}`, body)
    t.equal(second.json.usageMetadata.cachedContentTokenCount, 104)
    t.equal(second.json.usageMetadata.promptTokenCount, first.json.usageMetadata.promptTokenCount)
  },
)

void t.test('errors have this wire’s shape, before and within a stream', async (t) => {
  const sandbox = await sandboxFor(t, { apiKeys: ['test-key'] })
  const target = `text-basic:${GENERATE}`
  const bad = await native(sandbox, target, nativeBody('x'), { 'x-goog-api-key': 'wrong' })
  t.match([bad.status, bad.json.error.details[0].reason], [400, 'API_KEY_INVALID'])
  const missing = await native(sandbox, target, nativeBody('x'), { 'x-goog-api-key': '' })
  t.match([missing.status, missing.json.error.status], [403, 'PERMISSION_DENIED'])
  const flat = await native(sandbox, target, nativeBody('x', { max_tokens: 5 }))
  t.match([flat.status, flat.json.error.message], [400, /Unknown name "max_tokens"/])
  const unknown = await native(sandbox, `text-none:${GENERATE}`, nativeBody('x'))
  t.match([unknown.status, unknown.json.error.status], [404, 'NOT_FOUND'])
  const method = await native(sandbox, 'text-basic:embedContent', nativeBody('x'))
  t.equal(method.status, 404)
  const empty = await native(sandbox, target, { contents: [{ parts: [{}] }] })
  t.match([empty.status, empty.json.error.code], [400, 400])
  const quota = await native(
    sandbox,
    target,
    nativeBody('x [[sandbox refuse=RESOURCE_EXHAUSTED retry-after=42]]'),
  )
  t.equal(quota.status, 429)
  t.equal(quota.json.error.details[1].retryDelay, '42s')
  const wrapped = await native(
    sandbox,
    target,
    nativeBody('x [[sandbox refuse=UNAVAILABLE wrap-error]]'),
  )
  t.match([wrapped.status, wrapped.json[0].error.status], [503, 'UNAVAILABLE'])
  t.equal(sandbox.calls().length, 0)

  const broken = await native(
    sandbox,
    `text-basic:${STREAM}`,
    nativeBody('x [[sandbox error-after=2]]'),
  )
  const events = eventsIn(broken.text, '\r\n')
  t.equal(events.length, 3)
  t.match(events[2]!.json, { error: { code: 503, status: 'UNAVAILABLE' } })
  const bare = await native(
    sandbox,
    `text-basic:${STREAM}`,
    nativeBody('x [[sandbox error-after=2 bare-error]]'),
  )
  t.match(bare.text, /\r\n\r\n\{"error":\{"code":503/)
})

void t.test('usage may be absent, and a cut stream has only its last report', async (t) => {
  const sandbox = await sandboxFor(t)
  const silent = await native(
    sandbox,
    `text-basic:${STREAM}`,
    nativeBody('x [[sandbox no-usage]] [[client=n]]'),
  )
  t.notMatch(silent.text, /usageMetadata/)
  t.match(await callOf(sandbox, 'n'), { usage_sent: false, frames_written: 17 })
  const cut = await read(
    `${sandbox.url}/v1beta/models/text-basic:${STREAM}`,
    nativeBody('x [[sandbox cut-before-usage]] [[client=c]]'),
  )
  t.equal(cut.complete, false)
  t.equal(eventsIn(cut.text, '\r\n').length, 16)
  t.match(await callOf(sandbox, 'c'), { usage_sent: false, ending: 'cut', family: 'native' })
  const zero = await native(
    sandbox,
    `text-basic:${GENERATE}`,
    nativeBody('x [[sandbox zero-usage]]'),
  )
  t.strictSame(zero.json.usageMetadata, {})
})
