import t from 'tap'
import { until } from '../../../helpers/eventually.ts'
import { settlement, settlementLine } from '../../../../src/domain/pricing/settlement.ts'
import { DomainError } from '../../../../src/kernel/errors.ts'
import { asModel } from '../../../api/support/app.ts'
import { frame, type Step } from '../../../api/support/memory-calls.ts'
import { chatPath, dataOf, goodChat, listen, sendRaw, startText } from '../../../api/v1/support.ts'

const limits = { keepAliveMs: 40, openAfterMs: 60, stallMs: 600 }
const harness = await startText(t, { streamLimits: limits })
const { texts, post } = harness
const base = await listen(harness)

const chunk = (content: string, part: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'text-basic',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...part,
})
const asked = { ...goodChat, stream: true, stream_options: { include_usage: true } }
const plain = { ...goodChat, stream: true }
const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 }

function gate(): { readonly open: () => void; readonly wait: () => Promise<void> } {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, wait: async () => opened }
}

async function fetchStream(body: object = plain, at = base) {
  const answer = await fetch(at + chatPath, {
    method: 'POST',
    headers: { ...asModel, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.body === null) throw new Error('no body')
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  return {
    answer,
    next: async () => (await reader.read()).value,
    cancel: async () => reader.cancel(),
  }
}

void t.test('200 as an event stream that proxies do not buffer', async (t) => {
  texts.steps = () => [frame(chunk('a'))]
  const { answer, cancel } = await fetchStream()
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(answer.headers.get('cache-control'), 'no-cache, no-transform')
  t.equal(answer.headers.get('x-accel-buffering'), 'no')
  t.match(answer.headers.get('x-request-id'), /^req_/)
  t.match(answer.headers.get('x-call-id'), /^call_/)
  await cancel()
})

void t.test('usage that upstream did not report is sent as it was settled', async (t) => {
  texts.steps = () => [frame(chunk('a')), frame('[DONE]')]
  const line = (rule: string, quantity: number) =>
    settlementLine(
      { sku: rule, rule, unit: 'token', price: '1', per: 1_000_000 },
      quantity,
      'estimated',
    )
  texts.settled = settlement({ priceBookVersion: '1', currency: 'USD' }, [
    line('text/chat/input', 2),
    line('text/chat/cached-input/at-input-rate', 1),
    line('text/chat/flex/output', 1),
    line('text/chat/web-search-count', 7),
  ])
  t.teardown(() => {
    texts.settled = undefined
  })
  const withUsage = dataOf((await post(chatPath, asked)).body)
  t.equal(withUsage.pop(), '[DONE]')
  t.same(JSON.parse(withUsage.at(-1) ?? ''), {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'text-basic',
    choices: [],
    usage,
  })
  t.equal(dataOf((await post(chatPath, plain)).body).length, 2)
})

void t.test('usage is in a stream only if its caller requested it', async (t) => {
  const written = {
    ...usage,
    prompt_tokens_details: { cached_write_tokens: 2, cached_write_5m_tokens: 2 },
  }
  const steps: readonly Step[] = [
    frame(chunk('a', { usage: null })),
    frame({ usage: null, ...chunk('b') }),
    frame(chunk('usage')),
    frame(chunk('c', { usage })),
    frame('{"object":"chat.completion.chunk",\n"choices":[]}'),
    frame(chunk('', { choices: [], usage: written }), { usageOnly: true }),
    frame('[DONE]'),
  ]
  texts.steps = () => steps
  const without = dataOf((await post(chatPath, plain)).body)
  t.equal(without.pop(), '[DONE]')
  t.same(
    without.map((each) => JSON.parse(each)),
    [
      chunk('a'),
      chunk('b'),
      chunk('usage'),
      chunk('c'),
      { object: 'chat.completion.chunk', choices: [] },
    ],
  )
  const withUsage = dataOf((await post(chatPath, asked)).body)
  t.equal(withUsage.pop(), '[DONE]')
  t.same(
    withUsage.map((each) => JSON.parse(each).usage),
    [null, null, null, usage, null, written],
  )
  t.same(texts.streams.at(-1)?.body, { messages: goodChat.messages })
})

void t.test('other stream options are passed upstream', async (t) => {
  await post(chatPath, { ...plain, stream_options: { include_obfuscation: false } })
  t.same(texts.streams.at(-1)?.body['stream_options'], { include_obfuscation: false })
})

void t.test('a frame is sent when it arrives, not with the next one', async (t) => {
  const second = gate()
  texts.steps = () => [frame(chunk('first')), second.wait, frame(chunk('second'))]
  const { next } = await fetchStream()
  t.match(await next(), /first/)
  second.open()
  let rest = ''
  for (let text = await next(); text !== undefined; text = await next()) rest += text
  t.match(rest, /second[^]*data: \[DONE\]\n\n$/)
})

void t.test('a failure in the middle is a data frame with the error, and no [DONE]', async (t) => {
  texts.steps = () => [
    frame(chunk('a')),
    () => {
      throw new DomainError('upstream_unavailable', 'The answer broke off', { callId: 'call_1' })
    },
  ]
  const data = dataOf((await post(chatPath, plain)).body)
  t.equal(data.length, 2)
  t.same(JSON.parse(data[1] ?? ''), {
    error: {
      message: 'The answer broke off',
      type: 'server_error',
      param: null,
      code: 'upstream_unavailable',
    },
  })
  texts.steps = () => [
    () => {
      throw new TypeError('secret internals')
    },
  ]
  t.notMatch((await post(chatPath, plain)).body, /secret|DONE/)
})

void t.test('comments keep a silent stream alive', async (t) => {
  const end = gate()
  texts.steps = () => [frame(chunk('a')), end.wait]
  const { next } = await fetchStream()
  let text = ''
  while ((text.match(/: keep-alive\n\n/g) ?? []).length < 2) text += await next()
  end.open()
  for (let more = await next(); more !== undefined; more = await next()) text += more
  t.same(dataOf(text).length, 2, 'comments are no data')
})

void t.test('a call slow to begin opens the stream early, and fails within it', async (t) => {
  const begin = gate()
  texts.begin = begin.wait
  texts.steps = () => [frame(chunk('late'))]
  const slow = await fetchStream()
  t.equal(slow.answer.status, 200)
  t.match(await slow.next(), /^: keep-alive\n\n/)
  texts.failure = new DomainError('upstream_timeout', 'Nothing came', {})
  begin.open()
  let text = ''
  for (let more = await slow.next(); more !== undefined; more = await slow.next()) text += more
  t.match(JSON.parse(dataOf(text)[0] ?? ''), { error: { code: 'upstream_timeout' } })
  texts.failure = undefined
  texts.begin = () => undefined
})

void t.test('a caller who leaves is reported, and the frames are read to their end', async (t) => {
  const left = gate()
  const finished = texts.finished
  texts.steps = () => [frame(chunk('a')), left.wait, frame(chunk('b')), frame(chunk('c'))]
  const { next, cancel } = await fetchStream()
  await next()
  await cancel()
  const input = texts.streams.at(-1)
  await until(() => input?.callerGone.aborted === true)
  t.equal(texts.finished, finished, 'the call goes on')
  left.open()
  await until(() => texts.finished === finished + 1)
})

void t.test('a caller who leaves before the stream begins is reported too', async (t) => {
  const begin = gate()
  const finished = texts.finished
  texts.begin = begin.wait
  texts.steps = () => [frame(chunk('a'))]
  const count = texts.streams.length
  const socket = sendRaw(harness, chatPath, plain)
  await until(() => texts.streams.length > count)
  socket.destroy()
  const input = texts.streams.at(-1)
  await until(() => input?.callerGone.aborted === true)
  begin.open()
  texts.begin = () => undefined
  await until(() => texts.finished === finished + 1)
  t.equal(input?.requestId.startsWith('req_'), true)
})

void t.test('a stream that was read to its end reports no leaving caller', async (t) => {
  texts.steps = () => [frame(chunk('a'))]
  const { next } = await fetchStream()
  while ((await next()) !== undefined);
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(texts.streams.at(-1)?.callerGone.aborted, false)
})

void t.test('frames wait for a slow reader; a reader that takes none counts as gone', async (t) => {
  const big = 'x'.repeat(64 * 1024)
  const total = 2_000
  let made = 0
  let madeWhenGone = 0
  texts.steps = function* ({ callerGone }) {
    callerGone.addEventListener('abort', () => (madeWhenGone = made))
    for (; made < total; made += 1) yield frame(chunk(big))
  }
  const finished = texts.finished
  const socket = sendRaw(harness, chatPath, plain)
  await until(() => texts.finished === finished + 1)
  t.ok(madeWhenGone > 0)
  t.ok(madeWhenGone < total / 2, `${madeWhenGone} frames of 64 KiB were taken before it stalled`)
  t.equal(made, total, 'and the rest is read all the same')
  socket.destroy()
})

void t.test('a slow reader who does read gets every frame', async (t) => {
  const big = 'x'.repeat(64 * 1024)
  // On a busy machine a reader may be away longer than the other tests allow.
  const patient = await startText(t, { streamLimits: { ...limits, stallMs: 60_000 } })
  patient.texts.steps = function* () {
    for (let n = 0; n < 200; n += 1) yield frame(chunk(big))
  }
  const { next } = await fetchStream(plain, await listen(patient))
  let bytes = 0
  for (let text = await next(); text !== undefined; text = await next()) {
    bytes += text.length
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  t.ok(bytes > 200 * 64 * 1024)
})

void t.test(
  'a stream is counted and logged like any answer, 499 when its caller left',
  async (t) => {
    texts.steps = () => [frame(chunk('a'))]
    const whole = await fetchStream()
    while ((await whole.next()) !== undefined);
    const left = gate()
    texts.steps = () => [frame(chunk('a')), left.wait]
    const cut = await fetchStream()
    await cut.cancel()
    const lines = (): readonly Record<string, unknown>[] =>
      harness
        .logged()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((line) => line['msg'] === 'request')
    for (const [{ answer }, status] of [
      [whole, 200],
      [cut, 499],
    ] as const) {
      const reqId = answer.headers.get('x-request-id')
      const found = () => lines().filter((line) => line['reqId'] === reqId)
      await until(() => found().length > 0)
      t.match(found(), [{ status, route: chatPath, callId: /^call_/, tenantId: 'tenant_1' }])
    }
    left.open()
    const metrics = (await harness.app.inject('/metrics')).body
    t.match(metrics, /tollgate_http_requests_total\{[^}]*chat\/completions",status="499"\} [1-9]/)
  },
)
