import t from 'tap'
import type { LimitHeaders } from '../../../../src/api/kit/answers/answer-headers.ts'
import type { Mount } from '../../../../src/api/kit/routes/surface.ts'
import { v1Envelope } from '../../../../src/api/v1/envelope.ts'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import { textSurface } from '../../../../src/families/text/surface/calls.ts'
import { createTextProvider } from '../../../../src/families/text/upstream/client.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { ChatBodySchema, readChatRequest } from '../../../../src/families/chat/surface/request.ts'
import { chatCompletion, goodChat, startText } from '../../../api/v1/support.ts'
import { frame } from '../../../api/support/memory-calls.ts'
import { wires } from '../wires.ts'

/** Limit headers under names that no other wire has. */
const reportsLimits: LimitHeaders = ({ requests }) =>
  requests === undefined ? {} : { 'wire-requests-left': String(requests.remaining) }

/** A wire that has its own headers in both directions, and passes on bodies as they came. */
const mount: Mount = {
  prefix: '/wire',
  envelopeOf: () => v1Envelope,
  bodyBytes: 1024 * 1024,
  body: { passesOn: true, withoutHash: true, keepsText: true },
  reportsLimits,
}

const provider = createTextProvider(chatWire)
t.teardown(async () => provider.close())

const surface = textSurface(
  mount,
  {
    name: 'wire.say',
    path: '/say',
    body: ChatBodySchema,
    documented: {},
    headers: ({ headers }) => ({ 'wire-version': String(headers['wire-version']) }),
    read: (body) => {
      const { stream, includeUsage: _usage, ...asked } = readChatRequest(body)
      const dialect = {
        frame: ({ data }: { readonly data: string }) => `data: ${data}\n\n`,
        failure: () => '',
        end: '',
      }
      return { ...asked, dialect: stream ? dialect : undefined }
    },
  },
  { wire: wires.chat, provider, keptIds: createKeptIds('a secret of the tests') },
)

const { texts, post } = await startText(t, {
  surfaces: [surface],
  throttle: { statuses: () => ({ requests: { limit: 60, remaining: 7, resetMs: 1_000 } }) },
})
texts.answer = () => chatCompletion
texts.steps = () => [frame({ choices: [] })]
const sent = { 'wire-version': '2026-10-21', 'x-else': 'stays here' }

void t.test('the headers of a wire reach its call, whole and streamed', async (t) => {
  t.equal((await post('/wire/say', goodChat, sent)).statusCode, 200)
  t.equal((await post('/wire/say', { ...goodChat, stream: true }, sent)).statusCode, 200)
  t.same(texts.calls[0]?.headers, { 'wire-version': '2026-10-21' })
  t.same(texts.streams[0]?.headers, { 'wire-version': '2026-10-21' })
})

void t.test('limits are in the headers that the wire names, of every answer', async (t) => {
  for (const body of [goodChat, { ...goodChat, stream: true }, { ...goodChat, messages: [] }]) {
    const { headers } = await post('/wire/say', body, sent)
    t.equal(headers['wire-requests-left'], '7')
    t.equal(headers['x-ratelimit-remaining-requests'], undefined)
  }
})

void t.test('the body of a call is passed on as it was written, short and long', async (t) => {
  const model = 'text-basic'
  for (const length of [10, 300_000]) {
    const messages = `[{"role":"user", "content":"\\u00e9😀\\/${'x'.repeat(length)}"}]`
    const body = `{"2":1.50, "1":12345678901234567890,"messages" : ${messages} ,"model": "${model}"}\n`
    t.equal((await post('/wire/say', body)).statusCode, 200)
    t.ok(texts.calls.at(-1)?.written?.with({ model }).parts.join('') === body)
    const renamed = texts.calls.at(-1)?.written?.with({ model: 'theirs' })
    t.ok(renamed?.parts.join('') === body.replace('text-basic', 'theirs'))
    t.equal(renamed?.lengthBytes, Buffer.byteLength(body) - 4)
  }
  const priced = await post('/v1/quote', { path: '/wire/say', body: goodChat })
  t.equal(priced.statusCode, 200, 'a quote has no text, and is made by the value')
})
