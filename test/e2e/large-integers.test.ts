import t from 'tap'
import { exactInteger } from '../../src/kernel/exact-integers.ts'
import { sharedStack } from '../helpers/stack.ts'
import { type Answer, call } from './support/client.ts'

const stack = await sharedStack(t)
const { url, demo } = stack
const model = 'text-basic'

/** In a schema, in the arguments of a call, in its result, and in what a caller notes. */
const SCHEMA = '9223372036854775807'
const ARGUMENT = '-9007199254740993'
const RESULT = '18446744073709551615'
const NOTE = '12345678901234567890'
const DOUBLE = '1.7976931348623157e+308'

const parameters = `{"type":"object","properties":{"id":{"const":${SCHEMA}},"share":{"type":"number","maximum":${DOUBLE}},"none":null}}`
const prompt = 'look it up [[sandbox tool=look_up]]'
const args = `{"id":${ARGUMENT}}`

interface WireCase {
  readonly path: string
  readonly streamed: string
  /** The JSON of a body, with more text in its prompt. */
  readonly body: (more: string, stream: boolean) => string
  /** What upstream gets as digits; on some wires arguments and results are text. */
  readonly digits: readonly string[]
  /** How the answer has the arguments of its call. */
  readonly answered: string
}

const streamOf = (stream: boolean): string => (stream ? '"stream":true,' : '')
const asText = JSON.stringify(args)

const chat: WireCase = {
  path: '/v1/chat/completions',
  streamed: '/v1/chat/completions',
  body: (more, stream) =>
    `{"model":"${model}",${streamOf(stream)}"metadata":{"note":${NOTE}},"messages":[
      {"role":"user","content":"hi ${more}"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look_up","arguments":${asText}}}]},
      {"role":"tool","tool_call_id":"call_1","content":"{\\"is\\":${RESULT}}"},
      {"role":"user","content":"${prompt}"}],
      "tools":[{"type":"function","function":{"name":"look_up","parameters":${parameters}}}]}`,
  digits: [`"const":${SCHEMA}`, DOUBLE, `"note":${NOTE}`, asText, `:${RESULT}}`],
  answered: String.raw`{\"id\":${SCHEMA}`,
}
/** Functions as chat writes them are written anew for upstream; an answer repeats them. */
const responses: WireCase = {
  path: '/v1/responses',
  streamed: '/v1/responses',
  body: (more, stream) =>
    `{"model":"${model}",${streamOf(stream)}"metadata":{"note":${NOTE}},"input":[
      {"role":"user","content":[{"type":"text","text":"hi ${more}"}]},
      {"type":"function_call","call_id":"call_1","name":"look_up","arguments":${asText}},
      {"type":"function_call_output","call_id":"call_1","output":"{\\"is\\":${RESULT}}"},
      {"role":"user","content":"${prompt}"}],
      "tools":[{"type":"function","function":{"name":"look_up","parameters":${parameters}}}],
      "response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"const":${SCHEMA}}}}}`,
  digits: [
    `"const":${SCHEMA}},"share"`,
    DOUBLE,
    `"note":${NOTE}`,
    asText,
    `"schema":{"const":${SCHEMA}}`,
  ],
  answered: String.raw`{\"id\":${SCHEMA}`,
}
const native: WireCase = {
  path: `/v1beta/models/${model}:generateContent`,
  streamed: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  body: (more) =>
    `{"contents":[{"role":"user","parts":[{"text":"hi ${more}"}]},
      {"role":"model","parts":[{"function_call":{"name":"look_up","args":${args}}}]},
      {"role":"user","parts":[{"function_response":{"name":"look_up","response":{"is":${RESULT}}}}]},
      {"role":"user","parts":[{"text":"${prompt}"}]}],
      "tools":[{"function_declarations":[{"name":"look_up","parametersJsonSchema":${parameters}}]}],
      "labels":{"note":${NOTE}}}`,
  digits: [`"const":${SCHEMA}`, DOUBLE, `"note":${NOTE}`, `"args":${args}`, `:${RESULT}}`],
  answered: `"args":{"id":${SCHEMA}`,
}
const surfaces: readonly WireCase[] = [chat, responses, native]

const post = (path: string, body: string, key?: string): Promise<Answer> =>
  call(`${url}${path}`, {
    method: 'POST',
    token: demo.modelToken,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body,
  })

/** The body of the call that upstream got last, as text: a task of another test may be asked for meanwhile. */
function received(): string {
  const bodies = stack.sandbox.requestLog().map(({ body }) => JSON.stringify(body) ?? '')
  return bodies.findLast((body) => body.includes('look_up')) ?? ''
}

const sent = (): number =>
  stack.sandbox.requestLog().filter(({ method }) => method === 'POST').length

if (exactInteger === undefined)
  t.test('400 naming the member and the Node version, where digits would be lost', async (t) => {
    const before = sent()
    for (const { path, body } of surfaces) {
      const answer = await post(path, body('', false))
      t.equal(answer.status, 400, answer.text)
      t.match(answer.text, /Node 22/)
    }
    t.equal(sent(), before, 'nothing was sent')
  })
else
  t.test('integers that the gateway only passes on keep their digits, both ways', async (t) => {
    for (const { path, streamed, body, digits, answered } of surfaces)
      for (const stream of [false, true]) {
        const at = stream ? streamed : path
        const answer = await post(at, body('', stream))
        t.equal(answer.status, 200, `${at}: ${answer.text.slice(0, 300)}`)
        const sent = received()
        for (const one of digits) t.ok(sent.includes(one), `${at} sends ${one}: ${sent}`)
        // A stream of chat or responses has the arguments in pieces.
        if (!stream || at.includes('Generate'))
          t.ok(answer.text.includes(answered), `${at} answers ${answered}: ${answer.text}`)
        t.notMatch(answer.text, '9223372036854775808', `${at}: no digit is another one`)
        t.notMatch(answer.text, 'rawJSON', at)
      }
  })

if (exactInteger !== undefined)
  t.test('large integers keep their digits in a large body too', async (t) => {
    for (const { path, body } of surfaces) {
      const answer = await post(path, body('a boat '.repeat(30_000), false))
      t.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`)
      t.match(answer.text, SCHEMA, 'the schema stands behind the long text')
    }
  })

if (exactInteger !== undefined)
  t.test('under a key equal digits are one request, whose answer is repeated', async (t) => {
    const [first, again] = [
      await post(native.path, native.body('', false), 'key-large'),
      await post(native.path, native.body('', false), 'key-large'),
    ]
    t.equal(first.status, 200)
    t.equal(again.text.includes(native.answered), true, again.text)
    const other = await post(native.path, native.body('', false).replace(NOTE, '5'), 'key-large')
    t.equal(other.status, 409)
  })

t.test('400 for a large integer in a member that the gateway reads', async (t) => {
  const messages = '"messages":[{"role":"user","content":"hi"}]'
  for (const [member, param] of [
    [`"max_tokens":${SCHEMA}`, 'max_tokens'],
    [`"seed":${SCHEMA}`, 'seed'],
    [`"temperature":${SCHEMA}`, 'temperature'],
  ] as const) {
    const answer = await post(chat.path, `{"model":"${model}",${messages},${member}}`)
    t.equal(answer.status, 400)
    t.match(answer.body.error, { param, message: /range that can be kept exactly/ })
  }
  const typed = `{"model":"${model}",${messages},"tools":[{"type":${SCHEMA}}]}`
  t.equal((await post(chat.path, typed)).status, 400, 'the type of a tool')
  const schema = `{"model":"${model}",${messages},"tools":[{"type":"function","function":{"name":"a","parameters":${SCHEMA}}}]}`
  t.equal((await post(chat.path, schema)).status, 400, 'a schema that is none')
  const tasks = `{"model":"domestic-video-2-0","content":[],"duration":5,"tools":[{"a":${SCHEMA}}]}`
  const onTasks = await post('/provA/api/v3/contents/generations/tasks', tasks)
  t.match(onTasks.text, /kept exactly/, 'a body that is stored')
})
