import t from 'tap'
import { chatCompletion, chatPath, goodChat, startText } from '../../../api/v1/support.ts'

const { texts, post, logged } = await startText(t)
texts.answer = () => chatCompletion

void t.test('200 with the answer of the use case, its ids as headers', async (t) => {
  const answer = await post(chatPath, goodChat)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), chatCompletion)
  t.match(answer.headers['x-request-id'], /^req_/)
  t.equal(answer.headers['x-call-id'], `call_${texts.calls.length}`)
})

void t.test(
  'the use case gets the body without model and streaming, otherwise unchanged',
  async (t) => {
    const body = {
      ...goodChat,
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'developer', content: [{ type: 'text', text: 'x' }] },
        { role: 'user', content: 'Weather?', name: 'ann' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function' }] },
        { role: 'tool', tool_call_id: 'c', content: 'rain' },
      ],
      temperature: 0,
      stream: false,
      tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }],
      functions: [{ name: 'old' }],
      function_call: 'auto',
      tool_choice: { type: 'function', function: { name: 'weather' } },
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
      seed: 7,
      reasoning_effort: 'high',
      x_unknown: { deep: [1, null, 'a\u0000\ud800'] },
    }
    const answer = await post(chatPath, body)
    t.equal(answer.statusCode, 200)
    const input = texts.calls.at(-1)
    const { model: _model, stream: _stream, ...passed } = body
    t.same(input?.body, passed)
    t.match(input, {
      family: 'chat',
      surface: 'v1.chat',
      model: 'text-basic',
      requestId: answer.headers['x-request-id'],
      principal: { tokenId: 'tok_1' },
    })
  },
)

void t.test('input is measured: text by its length, media by decoded bytes', async (t) => {
  const image = `data:image/png;base64,${'A'.repeat(4_000)}`
  await post(chatPath, {
    model: 'text-basic',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'häh' },
          { type: 'image_url', image_url: { url: image } },
          { type: 'input_audio', input_audio: { data: 'B'.repeat(400), format: 'mp3' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ],
  })
  t.same(texts.calls.at(-1)?.inputSize, {
    characters: 3,
    textBytes: 4,
    mediaBytes: 3_300,
    heldTokens: 6_000,
  })
  const tools = [{ type: 'function', function: { name: 'f' } }]
  await post(chatPath, { ...goodChat, tools })
  t.equal(texts.calls.at(-1)?.inputSize.characters, 5 + JSON.stringify(tools).length)
})

void t.test('400 naming the field that is wrong', async (t) => {
  const made = texts.calls.length
  const cases: readonly (readonly [unknown, string | null])[] = [
    [{ ...goodChat, model: undefined }, 'model'],
    [{ ...goodChat, model: '' }, 'model'],
    [{ ...goodChat, model: 7 }, 'model'],
    [{ ...goodChat, model: 'a\u0000' }, 'model'],
    [{ ...goodChat, model: 'x'.repeat(300) }, 'model'],
    [{ ...goodChat, messages: undefined }, 'messages'],
    [{ ...goodChat, messages: [] }, 'messages'],
    [{ ...goodChat, messages: 'hi' }, 'messages'],
    [{ ...goodChat, messages: ['hi'] }, 'messages[0]'],
    [{ ...goodChat, messages: [{ content: 'hi' }] }, 'messages[0].role'],
    [{ ...goodChat, messages: [{ role: 'robot', content: 'hi' }] }, 'messages[0].role'],
    [{ ...goodChat, messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ ...goodChat, messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    [{ ...goodChat, messages: [{ role: 'user', content: ['x'] }] }, 'messages[0].content[0]'],
    [{ ...goodChat, messages: [{ role: 'user', content: [{}] }] }, 'messages[0].content[0].type'],
    [{ ...goodChat, temperature: '1' }, 'temperature'],
    [{ ...goodChat, temperature: 2.1 }, 'temperature'],
    ...['max_tokens', 'max_completion_tokens'].flatMap((name) =>
      [-5, 1.5, 0, '7'].map((bound) => [{ ...goodChat, [name]: bound }, name] as const),
    ),
    [{ ...goodChat, stream: 'true' }, 'stream'],
    [{ ...goodChat, stream_options: { include_usage: true } }, 'stream_options'],
    [{ ...goodChat, stream: true, stream_options: [] }, 'stream_options'],
    [
      { ...goodChat, stream: true, stream_options: { include_usage: 1 } },
      'stream_options.include_usage',
    ],
    [{ ...goodChat, tools: {} }, 'tools'],
    [{ ...goodChat, tools: [{}] }, 'tools[0].type'],
    [{ ...goodChat, tools: [{ type: 'function' }] }, 'tools[0].function'],
    [{ ...goodChat, tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    [{ ...goodChat, tools: [{ type: 'file_search' }] }, 'tools[0].type'],
    [{ ...goodChat, tools: [{ type: 'x_unknown' }] }, 'tools[0].type'],
    [{ ...goodChat, web_search_options: true }, 'web_search_options'],
    [{ ...goodChat, functions: [{ name: 7 }] }, 'functions[0].name'],
    [{ ...goodChat, tool_choice: 7 }, 'tool_choice'],
    [{ ...goodChat, response_format: 'json' }, 'response_format'],
    [{ ...goodChat, response_format: {} }, 'response_format.type'],
    [{ ...goodChat, response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    ['{"model":"a","model":"b"}', 'model'],
    ['{"max_tokens":9223372036854775807}', 'max_tokens'],
    ['{"seed":1e400}', 'seed'],
    ['{"__proto__":{}}', '__proto__'],
    ['[]', null],
    ['{', null],
    ['', null],
  ]
  for (const [body, param] of cases) {
    const answer = await post(chatPath, body)
    t.match(
      { status: answer.statusCode, error: answer.json().error },
      { status: 400, error: { type: 'invalid_request_error', param, message: /./ } },
      JSON.stringify(body),
    )
  }
  t.equal(texts.calls.length + texts.streams.length, made, 'nothing was asked of the use case')
})

void t.test('400 for ids that belong to an account at the provider', async (t) => {
  const made = texts.calls.length
  const user = (part: object) => ({ role: 'user', content: [{ type: 'text', text: 'x' }, part] })
  const cases: readonly (readonly [object, string])[] = [
    [user({ type: 'file', file: { file_id: 'file-1' } }), 'messages[0].content[1].file.file_id'],
    [user({ type: 'file', file_id: 'file-1' }), 'messages[0].content[1].file_id'],
    [{ role: 'assistant', audio: { id: 'audio_1' } }, 'messages[0].audio'],
  ]
  for (const [message, param] of cases) {
    const answer = await post(chatPath, { ...goodChat, messages: [message] })
    t.match(
      { status: answer.statusCode, error: answer.json().error },
      { status: 400, error: { type: 'invalid_request_error', code: 'invalid_value', param } },
    )
  }
  t.equal(texts.calls.length, made)
  const inline = { type: 'file', file: { file_id: null, file_data: 'QUJD', filename: 'a.pdf' } }
  const assistant = { role: 'assistant', content: 'x', audio: null }
  const whole = { ...goodChat, messages: [user(inline), assistant] }
  t.equal((await post(chatPath, whole)).statusCode, 200)
})

void t.test('the largest integers a double holds exactly pass', async (t) => {
  const schema = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
  const tools = [{ type: 'function', function: { name: 'f', parameters: schema } }]
  await post(chatPath, { ...goodChat, tools })
  t.same(texts.calls.at(-1)?.body['tools'], tools)
})

void t.test('neither tokens nor prompts are logged', async (t) => {
  await post(chatPath, { ...goodChat, messages: [{ role: 'user', content: 'my-secret-prompt' }] })
  t.notMatch(logged(), /my-secret-prompt|sk-one/)
})
