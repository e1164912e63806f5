import t from 'tap'
import { call, sandboxFor } from './client.ts'
import { callOf, CHAT, chatBody, chatStream, chunksOf, eventsIn, read, sdk } from './text-client.ts'

const FRAMES = 1 + 16 + 1 + 1 + 1

void t.test('a stream cut after N frames has exactly those, then breaks off', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const n of [0, 1, 5]) {
    const got = await read(
      sandbox.url + CHAT,
      chatStream(`x [[sandbox cut-after=${n}]] [[client=c${n}]]`),
    )
    t.equal(got.status, 200)
    t.equal(got.complete, false)
    t.equal(eventsIn(got.text).length, n)
    const record = await callOf(sandbox, `c${n}`)
    t.match(record, { ending: 'cut', frames_written: n, usage_sent: false, success: true })
    t.equal(record.bytes_written, Buffer.byteLength(got.text))
    t.equal(record.usage.output_tokens > 0, true, 'what it would have reported is on record')
  }
  const before = await read(
    sandbox.url + CHAT,
    chatStream('x [[sandbox cut-before-usage]] [[client=b]]'),
  )
  t.equal(before.complete, false)
  t.equal(eventsIn(before.text).length, FRAMES - 2)
  t.match(await callOf(sandbox, 'b'), { ending: 'cut', usage_sent: false })
  const unasked = await read(
    sandbox.url + CHAT,
    chatBody('x [[sandbox cut-before-usage]]', { stream: true }),
  )
  t.equal(eventsIn(unasked.text).length, FRAMES - 2, 'without a usage chunk, before [DONE]')
})

void t.test('a stream may close in order without its end', async (t) => {
  const sandbox = await sandboxFor(t)
  const short = await read(sandbox.url + CHAT, chatStream('x [[sandbox end-after=3]]'))
  t.equal(short.complete, true)
  t.equal(eventsIn(short.text).length, 3)
  const undone = await read(sandbox.url + CHAT, chatStream('x [[sandbox no-done]]'))
  t.equal(undone.complete, true)
  t.equal(eventsIn(undone.text).length, FRAMES - 1)
  t.notMatch(undone.text, /DONE/)
})

void t.test('an error in the midst of a stream makes the official client throw', async (t) => {
  const sandbox = await sandboxFor(t)
  const stream = await sdk(sandbox).chat.completions.create({
    model: 'text-basic',
    messages: [
      { role: 'user', content: 'x [[sandbox error-after=4 fail=server_overloaded]] [[client=e]]' },
    ],
    stream: true,
  })
  let chunks = 0
  await t.rejects(
    async () => {
      for await (const chunk of stream) chunks += chunk.choices.length
    },
    { code: 'server_overloaded', type: 'server_error' },
  )
  t.equal(chunks, 4)
  const record = await callOf(sandbox, 'e')
  t.match(record, { outcome: 'failed', success: false, fail_code: 'server_overloaded' })
  t.match(record, { frames_written: 4, error_sent: true, usage_sent: false })

  const failed = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatStream('x [[sandbox fail=server_error]] [[client=f]]'),
  )
  t.equal(failed.status, 500)
  t.match(await callOf(sandbox, 'f'), { outcome: 'failed', http_status: 500, ending: 'whole' })
  t.match(await callOf(sandbox, 'f'), { usage_sent: false })
})

void t.test('usage may be absent, zero, given as stated, or on every chunk', async (t) => {
  const sandbox = await sandboxFor(t)
  const none = await read(sandbox.url + CHAT, chatStream('x [[sandbox no-usage]] [[client=n]]'))
  t.notMatch(none.text, /usage/)
  t.match(none.text, /\[DONE\]/)
  const record = await callOf(sandbox, 'n')
  t.equal(record.usage_sent, false)
  t.ok(record.usage.input_tokens > 0)
  const absent = await call(sandbox.url, 'POST', CHAT, chatBody('x [[sandbox no-usage]]'))
  t.notOk('usage' in absent.json)

  const zero = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x [[sandbox zero-usage]] [[client=z]]'),
  )
  t.match(zero.json.usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
  t.match(await callOf(sandbox, 'z'), { usage_sent: true, usage: { input_tokens: 0 } })
  const stated = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x [[sandbox tokens=1234 reasoning-tokens=1000]]'),
  )
  t.match(stated.json.usage, {
    completion_tokens: 1234,
    completion_tokens_details: { reasoning_tokens: 1000 },
  })

  const each = await read(sandbox.url + CHAT, chatStream('x [[sandbox chunk-usage]]'))
  const counts = eventsIn(each.text).flatMap(({ json }) => json?.usage?.completion_tokens ?? [])
  t.equal(counts.length, FRAMES - 1)
  t.strictSame(
    counts,
    [...counts].sort((a, b) => a - b),
    'they only grow',
  )
})

void t.test('a damaged answer has its call on record', async (t) => {
  const sandbox = await sandboxFor(t)
  const broken = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x [[sandbox malformed]] [[client=m]]'),
  )
  t.match([broken.status, broken.json], [200, undefined])
  t.match(await callOf(sandbox, 'm'), { ending: 'damaged', usage_sent: false, success: true })
  const half = await read(sandbox.url + CHAT, chatBody('x [[sandbox truncated]] [[client=t]]'))
  t.equal(half.complete, false)
  t.match(await callOf(sandbox, 't'), { ending: 'cut', usage_sent: false })
  await t.rejects(
    call(sandbox.url, 'POST', CHAT, chatBody('x [[sandbox drop-after-accept]] [[client=d]]')),
  )
  t.match(await callOf(sandbox, 'd'), { ending: 'cut', http_status: null, bytes_written: 0 })
  const late = await call(
    sandbox.url,
    'POST',
    CHAT,
    chatBody('x [[sandbox http-after-accept=500]] [[client=l]]'),
  )
  t.equal(late.status, 500)
  t.match(await callOf(sandbox, 'l'), { ending: 'damaged', http_status: 500 })

  const streamed = await read(sandbox.url + CHAT, chatStream('x [[sandbox malformed]]'))
  const odd = eventsIn(streamed.text).filter(
    ({ json, data }) => json === undefined && data !== '[DONE]',
  )
  t.equal(odd.length, 1)
  const cut = await read(sandbox.url + CHAT, chatStream('x [[sandbox truncated]]'))
  t.equal(cut.complete, false)
  t.notMatch(cut.text, /\[DONE\]/)
})

void t.test(
  'a stream arrives in odd chunks, with comments, CRLF and unknown members',
  async (t) => {
    const sandbox = await sandboxFor(t)
    const plain = await read(sandbox.url + CHAT, chatStream('x [[sandbox words=32]]'))
    const oddly = chatStream('x [[sandbox words=32 split-bytes]]')
    const split = await read(sandbox.url + CHAT, oddly)
    for (const whole of [plain, split]) t.match(whole, { status: 200, complete: true })
    t.ok((await chunksOf(sandbox.url + CHAT, oddly)).every((size) => size <= 13))
    t.equal(eventsIn(split.text).length, eventsIn(plain.text).length)
    t.match(split.text, /[–ï☀]/)
    const loud = await read(sandbox.url + CHAT, chatStream('x [[sandbox keep-alive]]'))
    t.match(loud.text, /^: keep-alive\n\ndata: /)
    const crlf = await read(sandbox.url + CHAT, chatStream('x [[sandbox words=32 crlf]]'))
    t.match(crlf, { status: 200, complete: true })
    t.equal(eventsIn(crlf.text, '\r\n').length, eventsIn(plain.text).length)
    t.notMatch(crlf.text, /[^\r]\n/)
    const strange = await read(sandbox.url + CHAT, chatStream('x [[sandbox unknown-events]]'))
    t.match(strange.text, /"obfuscation"/)
    const huge = await call(
      sandbox.url,
      'POST',
      CHAT,
      chatStream('x [[sandbox huge-frame=300000]]'),
    )
    const longest = Math.max(...eventsIn(huge.text).map(({ data }) => data.length))
    t.ok(longest > 300_000)
  },
)

void t.test(
  'a stream keeps its pace, starts late, or stalls until the caller leaves',
  async (t) => {
    const sandbox = await sandboxFor(t)
    let startMs = Date.now()
    await read(sandbox.url + CHAT, chatStream('x [[sandbox words=8 frame-ms=20]]'))
    t.ok(Date.now() - startMs >= 11 * 20 * 0.9)
    startMs = Date.now()
    await read(sandbox.url + CHAT, chatStream('x [[sandbox first-frame-ms=150 words=1]]'))
    t.ok(Date.now() - startMs >= 140)

    const stalled = await read(
      sandbox.url + CHAT,
      chatStream('x [[sandbox stall-after=2]] [[client=s]]'),
      { leaveAfter: 450 },
    )
    t.equal(eventsIn(stalled.text).length, 2)
    t.match(await callOf(sandbox, 's'), {
      ending: 'client-gone',
      client_gone: true,
      frames_written: 2,
    })
  },
)

void t.test('a caller that hangs up is on record with the frames sent', async (t) => {
  const sandbox = await sandboxFor(t)
  await read(sandbox.url + CHAT, chatStream('x [[sandbox words=500 frame-ms=5]] [[client=gone]]'), {
    leaveAfter: 2000,
  })
  const record = await callOf(sandbox, 'gone')
  t.match(record, { client_gone: true, usage_sent: false, success: true, stream: true })
  t.ok(record.frames_written > 2 && record.frames_written < 400)
  t.ok(record.usage.output_tokens > 500)

  // A whole stream to a caller that stops reading must not pile up here.
  const slow = await read(
    sandbox.url + CHAT,
    chatStream('x [[sandbox words=20000]] [[client=whole]]'),
  )
  const whole = await callOf(sandbox, 'whole')
  t.match(whole, { ending: 'whole', usage_sent: true, frames_written: 20_004 })
  t.equal(whole.bytes_written, Buffer.byteLength(slow.text))
})

void t.test('a caller that leaves before the first byte is on record too', async (t) => {
  const sandbox = await sandboxFor(t)
  for (const [name, body] of [
    ['whole', chatBody('x [[sandbox first-byte-ms=5000]] [[client=whole]]')],
    ['flow', chatStream('x [[sandbox first-byte-ms=5000]] [[client=flow]]')],
    ['hung', chatBody('x [[sandbox hang-after-accept]] [[client=hung]]')],
  ] as const) {
    const leave = AbortSignal.timeout(200)
    const headers = { authorization: 'Bearer k' }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leave }
    await t.rejects(fetch(sandbox.url + CHAT, init))
    const record = await callOf(sandbox, name)
    t.match(record, { http_status: null, bytes_written: 0, usage_sent: false, success: true })
    t.equal(record.ending, name === 'hung' ? 'cut' : 'client-gone')
  }
  t.match(sandbox.requests().all, { in_flight: 0, by_status: { none: 3 } })
})

void t.test('process rules match by family, operation and model', async (t) => {
  const sandbox = await sandboxFor(t)
  sandbox.faults.add({ faults: ['http=503'], match: { family: 'chat', op: 'stream' }, once: 1 })
  t.equal((await call(sandbox.url, 'POST', CHAT, chatBody('x'))).status, 200)
  t.equal((await call(sandbox.url, 'POST', CHAT, chatStream('x'))).status, 503)
  t.equal((await call(sandbox.url, 'POST', CHAT, chatStream('x'))).status, 200)
  sandbox.faults.add({ faults: ['no-usage'], match: { model: 'text-tools' } })
  const struck = await call(sandbox.url, 'POST', CHAT, chatBody('x', { model: 'text-tools' }))
  t.notOk('usage' in struck.json)
  t.match(sandbox.requests().routes, { 'chat.stream': { count: 2 }, 'chat.create': { count: 2 } })
})

void t.test('the list of calls is paged, filtered and forgets the oldest', async (t) => {
  const sandbox = await sandboxFor(t, { maxTasks: 5 })
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    await call(sandbox.url, 'POST', CHAT, chatBody(`x [[client=${name}]]`))
  }
  const page = async (query: string) =>
    (await call(sandbox.url, 'GET', `/__sandbox/calls?${query}`)).json
  const first = await page('limit=3')
  t.match(first, { total: 5, forgotten: 2 })
  t.strictSame(
    first.items.map((one: { client_marker: string }) => one.client_marker),
    ['c', 'd', 'e'],
  )
  const rest = await page(`limit=3&after=${first.next_after}`)
  t.strictSame(
    rest.items.map((one: { client_marker: string }) => one.client_marker),
    ['f', 'g'],
  )
  t.equal(rest.next_after, null)
  t.equal((await page('client_marker=d')).items.length, 1)
  t.equal((await page('family=responses')).items.length, 0)
  await sandbox.reset()
  t.match(await page(''), { total: 0, forgotten: 0, items: [] })
})
