import t from 'tap'
import { DomainError, type DomainCode } from '../../../../src/kernel/errors.ts'
import { asModel, principals } from '../../../api/support/app.ts'
import { frame } from '../../../api/support/memory-calls.ts'
import { dataOf, startText } from '../../../api/v1/support.ts'

const { app, texts, post, hosts } = await startText(t, {
  hosts: { upstream: new Set(['models.example.com']) },
})
const model = 'gen-3-pro'
const path = `/v1beta/models/${model}:generateContent`
const streamPath = `/v1beta/models/${model}:streamGenerateContent?alt=sse`
const filePath = '/v1beta/models/gen-3-pro-preview-file:generateContent'
const good = { contents: [{ parts: [{ text: 'Hello' }] }] }
const generated = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  modelVersion: model,
}
texts.answer = () => generated

async function passed(body: object, at = path): Promise<Readonly<Record<string, unknown>>> {
  const answer = await post(at, body)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return texts.calls.at(-1)?.body ?? {}
}

void t.test('200 with the answer of the use case, the model from the path', async (t) => {
  const answer = await post(path, good)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), generated)
  t.match(answer.headers['x-call-id'], /^call_/)
  t.match(texts.calls.at(-1), {
    family: 'native',
    surface: 'v1beta.generate',
    model,
    body: good,
    inputSize: { characters: 5 },
  })
})

void t.test('members repeated from the path are not sent to the account', async (t) => {
  for (const more of [{ stream: true }, { stream: null, model: 'another' }]) {
    t.equal((await post(path, { ...good, ...more })).statusCode, 200)
    const { body = {} } = texts.calls.at(-1) ?? {}
    t.notOk(Object.hasOwn(body, 'stream') || Object.hasOwn(body, 'model'))
  }
})

void t.test('a model’s name may be encoded', async (t) => {
  await post('/v1beta/models/a%2Fb:generateContent', good)
  t.equal(texts.calls.at(-1)?.model, 'a/b')
  await post('/v1beta/models/gen-3.5_pro%3AgenerateContent', good)
  t.equal(texts.calls.at(-1)?.model, 'gen-3.5_pro')
})

void t.test('the token may come in the native headers, a bearer token first', async (t) => {
  const send = async (headers: Record<string, string>, url = path) =>
    app.inject({ method: 'POST', url, headers, payload: good })
  t.equal((await send({ 'x-native-api-key': 'sk-one' })).statusCode, 200)
  t.equal((await send({ 'x-goog-api-key': 'sk-two' })).statusCode, 200)
  t.equal(texts.calls.at(-1)?.principal.tenantId, 'tenant_2')
  t.equal((await send({ ...asModel, 'x-goog-api-key': 'sk-two' })).statusCode, 200)
  t.equal(texts.calls.at(-1)?.principal.tenantId, 'tenant_1')
  const without = [
    await send({}, `${path}?key=sk-one`),
    await send({ 'x-native-api-key': 'sk-unknown' }),
    await send({ 'x-native-api-key': '' }),
    await send({ authorization: 'Bearer sk-unknown', 'x-native-api-key': 'sk-one' }),
  ]
  for (const answer of without) {
    t.equal(answer.statusCode, 401)
    t.match(answer.json(), { error: { code: 401, status: 'UNAUTHENTICATED', message: /./ } })
  }
})

void t.test('flat members are folded into generationConfig, which wins', async (t) => {
  const flat = { temperature: 0.5, max_tokens: 9, top_p: 0.9, stop: 'END' }
  t.same(await passed({ ...good, ...flat }), {
    ...good,
    generationConfig: {
      temperature: 0.5,
      maxOutputTokens: 9,
      topP: 0.9,
      stopSequences: ['END'],
    },
  })
  const own = { temperature: 1, max_output_tokens: 3, candidateCount: 1, topK: 4 }
  t.same(
    (await passed({ ...good, ...flat, stop: ['a', 'b'], generation_config: own }))[
      'generationConfig'
    ],
    {
      temperature: 1,
      maxOutputTokens: 3,
      candidateCount: 1,
      topK: 4,
      topP: 0.9,
      stopSequences: ['a', 'b'],
    },
  )
  t.same(await passed({ ...good, temperature: null }), good)
})

void t.test('the role of an instruction is ignored, in either spelling', async (t) => {
  const parts = [{ text: 'Be brief' }]
  for (const name of ['systemInstruction', 'system_instruction'])
    for (const role of ['system', 'user', 'model', '', 'robot', 7, null])
      t.same(await passed({ ...good, [name]: { role, parts } }), {
        ...good,
        systemInstruction: { parts },
      })
})

void t.test('both spellings are read; free-form members keep their names', async (t) => {
  const schema = { type: 'object', properties: { my_field: { type: 'string' } } }
  const body = await passed({
    system_instruction: { parts: [{ text: 'Be brief' }] },
    contents: [
      {
        role: 'user',
        parts: [
          { inline_data: { mime_type: 'audio/mp3', data: 'QUJD' } },
          { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
          { function_response: { name: 'f', response: { my_field: 1 } } },
          { text: 'x', thought_signature: 'QUJD' },
        ],
      },
    ],
    generation_config: {
      response_schema: schema,
      thinking_config: { thinking_level: 'high', include_thoughts: true },
    },
    safety_settings: [],
    tools: [{ function_declarations: [{ name: 'f', parameters: schema }] }],
    x_unknown: { y_z: 1 },
  })
  t.same(body, {
    systemInstruction: { parts: [{ text: 'Be brief' }] },
    contents: [
      {
        role: 'user',
        parts: [
          { inlineData: { mimeType: 'audio/mp3', data: 'QUJD' } },
          { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
          { functionResponse: { name: 'f', response: { my_field: 1 } } },
          { text: 'x', thoughtSignature: 'QUJD' },
        ],
      },
    ],
    generationConfig: {
      responseSchema: schema,
      thinkingConfig: { thinkingLevel: 'high', includeThoughts: true },
    },
    safetySettings: [],
    tools: [{ functionDeclarations: [{ name: 'f', parameters: schema }] }],
    xUnknown: { y_z: 1 },
  })
  t.same(
    (await passed({ ...good, generationConfig: { thinkingConfig: { thinkingBudget: -1 } } }))[
      'generationConfig'
    ],
    { thinkingConfig: { thinkingBudget: -1 } },
  )
})

void t.test('tools that cost only tokens, and searches, pass in camel case', async (t) => {
  const tools = [
    { google_search: { time_range_filter: {} } },
    { code_execution: {} },
    { urlContext: {}, googleMaps: null },
  ]
  t.same((await passed({ ...good, tools }))['tools'], [
    { googleSearch: { time_range_filter: {} } },
    { codeExecution: {} },
    { urlContext: {}, googleMaps: null },
  ])
  await passed({ ...good, cachedContent: null })
})

void t.test('media is measured by its decoded bytes', async (t) => {
  const data = 'A'.repeat(4_000)
  await passed({ contents: [{ parts: [{ inline_data: { mime_type: 'image/png', data } }] }] })
  t.same(texts.calls.at(-1)?.inputSize, {
    characters: 0,
    textBytes: 0,
    mediaBytes: 3_000,
    heldTokens: 3_000,
  })
})

void t.test('a video by URL, for the one model that reads it', async (t) => {
  hosts.set('media.example.com', ['93.184.216.34'])
  hosts.set('inside.example.com', ['10.0.0.1'])
  // Where the accounts are: their files would be opened with our credential.
  for (const host of ['models.example.com', 'models.example.com.', 'not.models.example.com'])
    hosts.set(host, ['93.184.216.34'])
  const video = (file_uri: unknown, mime_type: unknown = 'video/mp4') => ({
    contents: [
      {
        parts: [
          { text: 'What is it?' },
          { file_data: { mime_type, file_uri }, video_metadata: { start_offset: '1s', fps: 2 } },
        ],
      },
    ],
  })
  const url = 'https://media.example.com/a.mp4?signature=x'
  t.same((await passed(video(url), filePath))['contents'], [
    {
      parts: [
        { text: 'What is it?' },
        {
          fileData: { mimeType: 'video/mp4', fileUri: url },
          videoMetadata: { startOffset: '1s', fps: 2 },
        },
      ],
    },
  ])
  t.ok((await passed(video('https://not.models.example.com/a.mp4'), filePath))['contents'])
  const inFunctionResponse = (part: object) => ({
    contents: [{ parts: [{ function_response: { name: 'f', response: {}, parts: [part] } }] }],
  })
  t.same(
    (await passed(inFunctionResponse({ file_data: { file_uri: url } }), filePath))['contents'],
    [
      {
        parts: [
          {
            functionResponse: { name: 'f', response: {}, parts: [{ fileData: { fileUri: url } }] },
          },
        ],
      },
    ],
  )
  const at = 'contents[0].parts[1].file_data'
  const refused: readonly (readonly [string, object, string])[] = [
    [path, video(url), at],
    [filePath, video('http://media.example.com/a.mp4'), `${at}.file_uri`],
    [filePath, video('gs://bucket/a.mp4'), `${at}.file_uri`],
    [filePath, video('files/abc-123'), `${at}.file_uri`],
    [filePath, video('https://models.example.com/v1beta/files/abc-123'), `${at}.file_uri`],
    [filePath, video('https://models.example.com/a.mp4'), `${at}.file_uri`],
    [filePath, video('https://media.example.com/v1beta/files/abc-123'), `${at}.file_uri`],
    [filePath, video('https://MODELS.example.com./v1beta/files/abc-123'), `${at}.file_uri`],
    [
      filePath,
      inFunctionResponse({ fileData: { fileUri: 'files/abc-123' } }),
      'contents[0].parts[0].function_response.parts[0].file_data.file_uri',
    ],
    [
      filePath,
      inFunctionResponse({
        functionResponse: {
          parts: [{ text: 'x' }, { inlineData: { mimeType: 'png', data: 'AA' } }],
        },
      }),
      'contents[0].parts[0].function_response.parts[0].function_response.parts[1].inline_data.mime_type',
    ],
    [filePath, video('https://127.0.0.1/a.mp4'), `${at}.file_uri`],
    [filePath, video('https://[::1]/a.mp4'), `${at}.file_uri`],
    [filePath, video('https://inside.example.com/a.mp4'), `${at}.file_uri`],
    [filePath, video('https://unknown.example.com/a.mp4'), `${at}.file_uri`],
    [filePath, video(7), `${at}.file_uri`],
    [filePath, video(undefined), `${at}.file_uri`],
    [filePath, video(url, 'mp4'), `${at}.mime_type`],
    [
      filePath,
      { contents: [{ parts: Array.from({ length: 11 }, () => ({ fileData: { fileUri: url } })) }] },
      'contents',
    ],
  ]
  for (const [to, body, field] of refused) {
    const answer = await post(to, body)
    t.equal(answer.statusCode, 400)
    t.equal(fieldOf(answer.json()), field, JSON.stringify(body))
  }
})

function fieldOf(body: unknown): string | undefined {
  const { error } = body as {
    error: { details?: readonly { fieldViolations?: readonly { field: string }[] }[] }
  }
  return error.details?.flatMap((each) => each.fieldViolations ?? [])[0]?.field
}

void t.test('400 INVALID_ARGUMENT naming the field that is wrong', async (t) => {
  const made = texts.calls.length
  const part = (each: unknown) => ({ contents: [{ parts: [each] }] })
  const config = (each: object) => ({ ...good, generationConfig: each })
  const cases: readonly (readonly [unknown, string | undefined])[] = [
    [{}, 'contents'],
    [{ contents: [] }, 'contents'],
    [{ contents: 'x' }, 'contents'],
    [{ contents: ['x'] }, 'contents[0]'],
    [{ contents: [{ role: 'robot', parts: [] }] }, 'contents[0].role'],
    [{ contents: [{}] }, 'contents[0].parts'],
    [{ contents: [{ parts: [] }] }, 'contents[0].parts'],
    [part('x'), 'contents[0].parts[0]'],
    [part({ text: 7 }), 'contents[0].parts[0].text'],
    [part({ inline_data: 'x' }), 'contents[0].parts[0].inline_data'],
    [part({ inline_data: { data: 'QUJD' } }), 'contents[0].parts[0].inline_data.mime_type'],
    [
      part({ inline_data: { mime_type: 'image/png', data: 'data:image/png;base64,QUJD' } }),
      'contents[0].parts[0].inline_data.data',
    ],
    [part({ inline_data: {}, inlineData: {} }), 'contents[0].parts[0].inlineData'],
    [{ ...good, temperature: 3 }, 'temperature'],
    [{ ...good, top_p: 2 }, 'top_p'],
    [{ ...good, max_tokens: 0.5 }, 'max_tokens'],
    [{ ...good, stop: [7] }, 'stop'],
    [{ ...good, generationConfig: {}, generation_config: {} }, 'generation_config'],
    [config([]), 'generationConfig'],
    [config({ temperature: 'hot' }), 'generationConfig.temperature'],
    [config({ topP: -1 }), 'generationConfig.topP'],
    [config({ maxOutputTokens: 0 }), 'generationConfig.maxOutputTokens'],
    [config({ stopSequences: 'x' }), 'generationConfig.stopSequences'],
    [config({ thinkingConfig: 'high' }), 'generationConfig.thinkingConfig'],
    [
      config({ thinkingConfig: { thinkingLevel: 7 } }),
      'generationConfig.thinkingConfig.thinkingLevel',
    ],
    [
      config({ thinkingConfig: { thinkingBudget: 1.5 } }),
      'generationConfig.thinkingConfig.thinkingBudget',
    ],
    [{ ...good, cachedContent: 'cachedContents/abc' }, 'cachedContent'],
    [{ ...good, cached_content: 'cachedContents/abc' }, 'cachedContent'],
    [{ ...good, tools: {} }, 'tools'],
    [{ ...good, tools: ['google_search'] }, 'tools[0]'],
    [{ ...good, tools: [{ urlContext: {} }, { google_maps: {} }] }, 'tools[1].googleMaps'],
    [{ ...good, tools: [{ file_search: { x: 1 } }] }, 'tools[0].fileSearch'],
    [{ ...good, tools: [{ retrieval: {} }] }, 'tools[0].retrieval'],
    [{ ...good, tools: [{ googleSearch: {}, xUnknown: {} }] }, 'tools[0].xUnknown'],
    ['{"contents":1,"contents":2}', 'contents'],
    ['{"x":9007199254740993}', 'x'],
    ['[]', undefined],
    ['{', undefined],
    ['', undefined],
  ]
  for (const [body, field] of cases) {
    const answer = await post(path, body)
    t.match(
      { status: answer.statusCode, body: answer.json() },
      { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: /./ } } },
    )
    t.equal(fieldOf(answer.json()), field, JSON.stringify(body))
  }
  t.equal(texts.calls.length, made)
})

void t.test('failures in the family’s shape, with the retry time', async (t) => {
  const cases: readonly (readonly [DomainCode, object, number, string, string | undefined])[] = [
    ['unknown_model', {}, 404, 'NOT_FOUND', undefined],
    ['model_not_allowed', {}, 403, 'PERMISSION_DENIED', undefined],
    ['insufficient_balance', {}, 402, 'FAILED_PRECONDITION', undefined],
    ['rate_limited', { retryAfterMs: 1_500 }, 429, 'RESOURCE_EXHAUSTED', '1.5s'],
    ['log_unavailable', {}, 503, 'UNAVAILABLE', '2s'],
    ['upstream_unavailable', { acceptance: 'unknown' }, 502, 'UNAVAILABLE', undefined],
    ['upstream_overloaded', {}, 503, 'UNAVAILABLE', '2s'],
    ['upstream_overloaded', { retryAfterMs: 7_000 }, 503, 'UNAVAILABLE', '7s'],
    ['upstream_overloaded', { acceptance: 'unknown' }, 503, 'UNAVAILABLE', undefined],
    ['upstream_timeout', {}, 504, 'DEADLINE_EXCEEDED', undefined],
    ['call_refused', { kind: 'account', status: 403 }, 503, 'UNAVAILABLE', undefined],
    ['call_refused', { kind: 'invalid', status: 400 }, 400, 'INVALID_ARGUMENT', undefined],
    [
      'call_refused',
      { kind: 'invalid', status: 400, upstreamCode: 'FAILED_PRECONDITION' },
      400,
      'FAILED_PRECONDITION',
      undefined,
    ],
  ]
  for (const [code, details, status, word, delay] of cases) {
    texts.failure = new DomainError(code, 'what happened', { ...details })
    for (const url of [path, streamPath]) {
      const answer = await post(url, good)
      t.equal(answer.statusCode, status, code)
      const { error } = answer.json<{ error: { details?: readonly Record<string, unknown>[] } }>()
      t.match(error, { code: status, status: word, message: /\w/ })
      const info = error.details?.find((each) => String(each['@type']).endsWith('RetryInfo'))
      t.equal(info?.['retryDelay'], delay)
    }
  }
  texts.failure = undefined
})

void t.test('every route works below /v1, with streams, failures and key headers', async (t) => {
  const below = (url: string): string => url.replace('/v1beta/', '/v1/')
  t.same(await passed({ ...good, generation_config: { top_p: 1 } }, below(path)), {
    ...good,
    generationConfig: { topP: 1 },
  })
  t.match(texts.calls.at(-1), { family: 'native', surface: 'v1.generate', model })
  const streamed = await post(below(streamPath), good)
  t.equal(streamed.headers['content-type'], 'text/event-stream; charset=utf-8')
  const asClient = { 'x-goog-api-key': 'sk-one' }
  const client = await app.inject({
    method: 'POST',
    url: below(path),
    headers: asClient,
    payload: good,
  })
  t.equal(client.statusCode, 200)
  const refusals: readonly (readonly [number, ReturnType<typeof post>])[] = [
    [400, post(below(path), { contents: [] })],
    [400, post(below(streamPath.replace('sse', 'json')), good)],
    [401, post(below(path), good, { authorization: 'Bearer sk-unknown' })],
    // It is the path of a model, which can be read.
    [405, post(below('/v1beta/models/a:b:generateContent'), good)],
    [400, post(below('/v1beta/models/a%3AgenerateContent'), {})],
  ]
  for (const [code, answer] of refusals)
    t.match((await answer).json(), { error: { code, status: /^[A-Z_]+$/ } })
  // Other paths of `/v1` have its shape.
  t.match((await post('/v1/models/gen-3-pro', good)).json(), { error: { type: /./, param: null } })
})

void t.test('the models of the token, page by page, in the shape of this wire', async (t) => {
  const of = await startText(t, {
    tokens: {
      authenticate: async (secret) => {
        const principal = principals[secret]
        await Promise.resolve()
        if (principal === undefined) return { ok: false, reason: 'unknown' }
        const models = new Set(['text-basic', 'gen-3-pro', 'clip-x'])
        return { ok: true, principal: { ...principal, models } }
      },
    },
  })
  of.texts.models.push({ id: 'clip-x', families: ['video-c'] })
  of.texts.models.push({ id: 'clip-y', families: ['video-c'] })
  const get = async (url: string, headers: Readonly<Record<string, string>> = asModel) =>
    of.app.inject({ url: `/v1beta/models${url}`, headers })
  const clip = { name: 'models/clip-x', displayName: 'clip-x', supportedGenerationMethods: [] }
  const generates = {
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent', 'countTokens'],
  }
  const whole = await get('')
  t.match(whole.json(), { models: [clip, { name: 'models/gen-3-pro', ...generates }, {}] })
  t.equal(whole.json().nextPageToken, undefined)
  t.same((await get('?pageSize=0')).json(), whole.json())
  t.same((await get('?pageSize=2000')).json(), whole.json())
  const first = (await get('?pageSize=2')).json()
  const rest = (await get(`?pageSize=2&pageToken=${first.nextPageToken}`)).json()
  t.same([...first.models, ...rest.models], whole.json().models)
  t.same(Object.keys(rest), ['models'])
  for (const query of ['pageSize=-1', 'pageSize=x', 'pageToken=%20', 'pageToken=', 'pageSzie=1']) {
    const answer = await get(`?${query}`)
    t.equal(answer.statusCode, 400, query)
    t.match(answer.json(), { error: { status: 'INVALID_ARGUMENT' } }, query)
  }

  t.same((await get('/clip-x')).json(), clip)
  t.match((await get('/gen-3-pro', { 'x-goog-api-key': 'sk-one' })).json(), generates)
  const missing = await get('/nothing')
  t.match(missing.json(), { error: { code: 404, status: 'NOT_FOUND' } })
  t.equal((await get('/clip-y')).body, missing.body, 'one that the token may not use')
  t.equal((await get('/gen-3-pro', {})).statusCode, 401)
  t.equal((await get('/gen-3-pro:generateContent')).statusCode, 405)
})

void t.test('404 in this shape for uploads of official clients', async (t) => {
  for (const url of ['/upload/v1beta', '/upload/v1beta/files?uploadType=resumable']) {
    const answer = await post(url, good)
    t.equal(answer.statusCode, 404)
    const message = `There is no such route: POST ${url.split('?', 1)[0] ?? ''}`
    t.match(answer.json(), { error: { code: 404, status: 'NOT_FOUND', message } })
  }
})

void t.test('404 for paths that are no method of a model', async (t) => {
  for (const url of [
    '/v1beta/models/gen-3-pro:embedContent',
    '/v1beta/models/a:b:generateContent',
    '/v1beta',
  ]) {
    const answer = await post(url, good)
    t.equal(answer.statusCode, 404, url)
    t.match(answer.json(), { error: { code: 404, status: 'NOT_FOUND' } })
  }
  for (const url of ['/v1beta/models/gen-3-pro', '/v1beta/models']) {
    const answer = await post(url, good)
    t.equal(answer.statusCode, 405, url)
    t.equal(answer.headers.allow, 'GET, HEAD', url)
    t.match(answer.json(), { error: { code: 405, status: 'UNIMPLEMENTED' } })
  }
  t.equal((await post('/v1beta/models/:generateContent', good)).statusCode, 400)
  t.equal((await post(`/v1beta/models/${'x'.repeat(300)}:generateContent`, good)).statusCode, 400)
})

void t.test('a stream has data frames only, without [DONE]', async (t) => {
  const chunks = [generated, { ...generated, candidates: [] }]
  texts.steps = () => [...chunks.map((each) => frame(each)), frame('[DONE]')]
  for (const url of [streamPath, streamPath.replace('?alt=sse', '')]) {
    const answer = await post(url, good)
    t.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
    t.equal(answer.body, chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''))
  }
  for (const alt of ['json', 'media', 'sse&alt=sse'])
    t.equal(fieldOf((await post(streamPath.replace('sse', alt), good)).json()), 'alt')
})

void t.test('a failure in the middle is a data frame with the error', async (t) => {
  texts.steps = () => [
    frame(generated),
    () => {
      throw new DomainError('upstream_unavailable', 'The answer broke off', {
        acceptance: 'certain',
      })
    },
  ]
  const data = dataOf((await post(streamPath, good)).body)
  t.equal(data.length, 2)
  t.match(JSON.parse(data[1] ?? ''), {
    error: { code: 502, message: 'The answer broke off', status: 'UNAVAILABLE' },
  })
})
