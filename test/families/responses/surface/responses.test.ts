import t from 'tap'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { frame } from '../../../api/support/memory-calls.ts'
import { dataOf, startText } from '../../../api/v1/support.ts'

const path = '/v1/responses'
const { texts, post } = await startText(t)
const good = { model: 'text-basic', input: 'Hello' }

async function passed(body: object): Promise<Readonly<Record<string, unknown>>> {
  const answer = await post(path, body)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return texts.calls.at(-1)?.body ?? {}
}

void t.test('200 with the answer of the use case', async (t) => {
  texts.answer = () => ({ id: 'resp_1', object: 'response', model: 'text-basic', output: [] })
  const answer = await post(path, good)
  t.equal(answer.statusCode, 200)
  t.same(answer.json(), { id: 'resp_1', object: 'response', model: 'text-basic', output: [] })
  t.match(answer.headers['x-call-id'], /^call_/)
  t.match(texts.calls.at(-1), {
    family: 'responses',
    surface: 'v1.responses',
    model: 'text-basic',
    body: { input: 'Hello' },
    inputSize: { characters: 5 },
  })
})

void t.test('members that the surface does not name are passed on unchanged', async (t) => {
  const body = { previous_response_id: 'r', store: false, include: ['x'], x_unknown: { a: [1] } }
  t.same(await passed({ ...good, ...body }), { input: 'Hello', ...body })
})

void t.test('part types are rewritten by the role of their message', async (t) => {
  const input = [
    { role: 'system', content: [{ type: 'text', text: 'a' }] },
    { type: 'message', role: 'developer', content: [{ type: 'text', text: 'b' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'c' },
        { type: 'input_text', text: 'd' },
        { type: 'image_url', image_url: { url: 'https://e.com/a.png', detail: 'low' } },
        { type: 'image_url', image_url: 'https://e.com/b.png' },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AA==', filename: 'a' } },
        { type: 'file', url: 'https://e.com/a.pdf' },
        { type: 'x_unknown', y: 1 },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'e' }] },
    { role: 'assistant', content: 'plain' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
  ]
  t.same((await passed({ ...good, input }))['input'], [
    { role: 'system', content: [{ type: 'input_text', text: 'a' }] },
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'b' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'c' },
        { type: 'input_text', text: 'd' },
        { type: 'input_image', image_url: 'https://e.com/a.png', detail: 'low' },
        { type: 'input_image', image_url: 'https://e.com/b.png' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,AA==', filename: 'a' },
        { type: 'input_file', file_url: 'https://e.com/a.pdf' },
        { type: 'x_unknown', y: 1 },
      ],
    },
    { role: 'assistant', content: [{ type: 'output_text', text: 'e' }] },
    { role: 'assistant', content: 'plain' },
    { type: 'function_call_output', call_id: 'c', output: 'x' },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
  ])
})

void t.test('an answer’s items may come back unchanged as input', async (t) => {
  const cites = { type: 'file_citation', file_id: 'file-1', filename: 'a' }
  const said = { type: 'output_text', text: 'x', annotations: [cites], logprobs: [] }
  const input = [
    { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content: [said] },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'QUJD' },
    { type: 'file_search_call', id: 'fs_1', results: [{ file_id: 'file-1', text: 'x' }] },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
    { type: 'image_generation_call', id: 'ig_1', result: 'QUJD' },
  ]
  t.same((await passed({ ...good, input }))['input'], input)
})

void t.test('items given by id only are passed on as references', async (t) => {
  const references = [
    { type: 'item_reference', id: 'msg_1' },
    { id: 'msg_1' },
    { type: null, id: 'msg_1', status: 'x' },
  ]
  const named = { type: 'item_reference', id: 'msg_1' }
  t.same((await passed({ ...good, input: references }))['input'], [named, named, named])
})

void t.test('400 for ids that belong to an account at the provider', async (t) => {
  const made = texts.calls.length + texts.streams.length
  const parts = (...content: unknown[]) => ({ input: [{ role: 'user', content }] })
  const items = (...input: unknown[]) => ({ input })
  const tools = (...offered: unknown[]) => ({ tools: offered })
  const interpreter = (container: unknown) => tools({ type: 'code_interpreter', container })
  const part = 'input[0].content[0]'
  const cases: readonly (readonly [object, string])[] = [
    [{ conversation: 'conv_1' }, 'conversation'],
    [{ conversation: { id: 'conv_1' } }, 'conversation'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ previous_response_id: 7 }, 'previous_response_id'],
    [items({ type: 'item_reference' }), 'input[0].id'],
    [items({ type: 'item_reference', id: 7 }), 'input[0].id'],
    [items({ id: ['msg_1'] }), 'input[0].id'],
    [items({ type: 'image_generation_call', id: 'ig_1' }), 'input[0].result'],
    [parts({ type: 'input_image', file_id: 'file-1' }), `${part}.file_id`],
    [parts({ type: 'input_file', file_id: 'file-1' }), `${part}.file_id`],
    [parts({ type: 'image', file_id: 'file-1' }), `${part}.file_id`],
    [parts({ type: 'file_id', file_id: 'file-1' }), `${part}.file_id`],
    [parts({ type: 'x_unknown', file_id: 'file-1' }), `${part}.file_id`],
    [parts({ type: 'file', file: { file_id: 'file-1' } }), `${part}.file.file_id`],
    [parts({ type: 'image_url', image_url: { file_id: 'f' } }), `${part}.image_url.file_id`],
    [
      items({ type: 'function_call_output', output: [{ type: 'input_file', file_id: 'f' }] }),
      'input[0].output[0].file_id',
    ],
    [
      items({
        type: 'computer_call_output',
        output: { type: 'computer_screenshot', file_id: 'f' },
      }),
      'input[0].output.file_id',
    ],
    [interpreter('cntr_1'), 'tools[0].container'],
    [interpreter({ type: 'auto', file_ids: ['file-1'] }), 'tools[0].container.file_ids'],
    [tools({ type: 'file_search', vector_store_ids: [7] }), 'tools[0].vector_store_ids'],
    [tools({ type: 'image_generation' }), 'tools[0].type'],
    [tools({ type: 'shell', environment: { type: 'container_auto' } }), 'tools[0].type'],
    [tools({ type: 'function', name: 'f' }, { type: 'x_unknown' }), 'tools[1].type'],
    [
      tools({ type: 'namespace', name: 'n', tools: [{ type: 'custom' }, { type: 'web_search' }] }),
      'tools[0].tools[1].type',
    ],
    [tools({ type: 'namespace', name: 'n', tools: ['x'] }), 'tools[0].tools[0].type'],
  ]
  for (const [body, param] of cases)
    for (const stream of [false, true]) {
      const answer = await post(path, { ...good, ...body, stream })
      const { error } = answer.json<{ error: { message: string } }>()
      t.match(
        { status: answer.statusCode, error },
        { status: 400, error: { type: 'invalid_request_error', code: 'invalid_value', param } },
        JSON.stringify(body),
      )
      t.ok(error.message.includes(`\`${param}\``), 'the field is named')
    }
  t.equal(texts.calls.length + texts.streams.length, made)
  const nothing = {
    conversation: null,
    prompt: null,
    previous_response_id: null,
    background: false,
  }
  t.equal((await post(path, { ...good, ...nothing })).statusCode, 200)
})

void t.test('response_format becomes text.format; an explicit text.format wins', async (t) => {
  const schema = { type: 'object' }
  const nested = { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } }
  const flat = { type: 'json_schema', name: 'a', schema, strict: true }
  t.same(await passed({ ...good, response_format: nested }), {
    input: 'Hello',
    text: { format: flat },
  })
  t.same((await passed({ ...good, response_format: flat }))['text'], { format: flat })
  t.same(
    (await passed({ ...good, text: { verbosity: 'low' }, response_format: { type: 'text' } }))[
      'text'
    ],
    { verbosity: 'low', format: { type: 'text' } },
  )
  t.same(
    (await passed({ ...good, text: { format: { type: 'text' } }, response_format: nested }))[
      'text'
    ],
    { format: { type: 'text' } },
  )
})

void t.test('functions in chat form are flattened, other tools are kept', async (t) => {
  const described = { name: 'f', parameters: { type: 'object' }, strict: true }
  const body = await passed({
    ...good,
    tools: [
      { type: 'function', function: described },
      { type: 'function', ...described },
      { type: 'web_search_preview' },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
  })
  t.same(body['tools'], [
    { type: 'function', ...described },
    { type: 'function', ...described },
    { type: 'web_search_preview' },
  ])
  t.same(body['tool_choice'], { type: 'function', name: 'f' })
  t.equal((await passed({ ...good, tool_choice: 'required' }))['tool_choice'], 'required')
})

void t.test('400 naming the field that is wrong', async (t) => {
  const made = texts.calls.length
  const parts = (...content: unknown[]) => ({ ...good, input: [{ role: 'user', content }] })
  const cases: readonly (readonly [object, string])[] = [
    [{ ...good, model: null }, 'model'],
    [{ ...good, input: undefined }, 'input'],
    [{ ...good, input: 7 }, 'input'],
    [{ ...good, input: [7] }, 'input[0]'],
    [{ ...good, input: [{ content: 'x' }] }, 'input[0].role'],
    [{ ...good, input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
    [{ ...good, input: [{ type: 7 }] }, 'input[0].type'],
    [{ ...good, input: [{ role: 'user' }] }, 'input[0].content'],
    [parts('x'), 'input[0].content[0]'],
    [parts({ text: 'x' }), 'input[0].content[0].type'],
    [parts({ type: 'text' }), 'input[0].content[0].text'],
    [parts({ type: 'image_url' }), 'input[0].content[0].image_url'],
    [parts({ type: 'image_url', image_url: {} }), 'input[0].content[0].image_url.url'],
    [parts({ type: 'file', filename: 'a' }), 'input[0].content[0]'],
    [{ ...good, stream: 1 }, 'stream'],
    [{ ...good, background: true }, 'background'],
    [{ ...good, temperature: -1 }, 'temperature'],
    ...[-5, 1.5, 0, '7'].map(
      (bound) => [{ ...good, max_output_tokens: bound }, 'max_output_tokens'] as const,
    ),
    [{ ...good, text: 'json' }, 'text'],
    [{ ...good, response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [{ ...good, response_format: { type: 'json_schema', name: 7 } }, 'response_format.name'],
    [{ ...good, tools: [{ type: 'function' }] }, 'tools[0].name'],
    [{ ...good, tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    [{ ...good, tool_choice: 1 }, 'tool_choice'],
  ]
  for (const [body, param] of cases) {
    const answer = await post(path, body)
    t.match(
      { status: answer.statusCode, error: answer.json().error },
      { status: 400, error: { type: 'invalid_request_error', param } },
      JSON.stringify(body),
    )
  }
  t.equal(texts.calls.length, made)
})

const events = [
  { type: 'response.created', sequence_number: 0, response: { id: 'resp_1', model: 'text-basic' } },
  { type: 'response.output_text.delta', sequence_number: 1, delta: 'Hello\nthere' },
  { type: 'response.x_unknown', sequence_number: 2 },
  { type: 'response.completed', sequence_number: 3, response: { id: 'resp_1', usage: {} } },
]

void t.test('every event is forwarded unchanged, unknown ones too, without [DONE]', async (t) => {
  texts.steps = () => events.map((event) => frame(event, { event: event.type }))
  const answer = await post(path, { ...good, stream: true })
  t.equal(answer.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.equal(
    answer.body,
    events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(''),
  )
  t.same(texts.streams.at(-1)?.body, { input: 'Hello' })
})

void t.test('a failure in the middle is an error event with the next number', async (t) => {
  texts.steps = () => [
    ...events.slice(0, 2).map((event) => frame(event, { event: event.type })),
    () => {
      throw new DomainError('upstream_unavailable', 'The answer broke off', {})
    },
  ]
  const answer = await post(path, { ...good, stream: true })
  t.match(answer.body, /\n\nevent: error\ndata: [^\n]+\n\n$/)
  t.same(JSON.parse(dataOf(answer.body).at(-1) ?? ''), {
    type: 'error',
    sequence_number: 2,
    code: 'upstream_unavailable',
    message: 'The answer broke off',
    param: null,
  })
})
