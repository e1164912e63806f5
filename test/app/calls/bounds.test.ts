import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { defaultCallLimits, type CallLimits } from '../../../src/app/calls/deps.ts'
import type { StreamedCall } from '../../../src/app/calls/family.ts'
import type { ImageDeps } from '../../../src/app/calls/images/types.ts'
import { createImageFamily } from '../../../src/app/calls/images/family.ts'
import { createCallRunner, createRunningCalls } from '../../../src/app/calls/running-calls.ts'
import { createChannelDirectory } from '../../../src/app/channels/directory.ts'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { catalog } from '../../../src/families/index.ts'
import { chatWire } from '../../../src/families/chat/upstream/wire.ts'
import { imageWire } from '../../../src/families/image/upstream/wire.ts'
import { readImageOrder } from '../../../src/families/image/rules/request.ts'
import { createImageProvider } from '../../../src/families/kit/image/client.ts'
import { nativeWire } from '../../../src/families/native/upstream/wire.ts'
import { responsesWire } from '../../../src/families/responses/upstream/wire.ts'
import { createSpeechFamily } from '../../../src/families/speech/calls/family.ts'
import { readSpeech } from '../../../src/families/speech/rules/request.ts'
import { createSpeechProvider } from '../../../src/families/speech/upstream/client.ts'
import { createTextFamily } from '../../../src/families/text/calls/family.ts'
import { createKeptIds } from '../../../src/families/text/calls/kept-ids.ts'
import { createTextProvider, type TextWire } from '../../../src/families/text/upstream/client.ts'
import { monotonicClock } from '../../../src/kernel/clock.ts'
import { shippedBook } from '../../domain/pricing/books.ts'
import { order } from '../../families/image/rules/orders.ts'
import { type TextFamily, wires } from '../../families/text/wires.ts'
import { until } from '../../helpers/eventually.ts'
import { principalOf } from '../support/world.ts'
import { memoryCallDeps } from './support/call-deps.ts'
import { textInput } from './support/text-world.ts'

/**
 * Every bound that can end a stream, at every surface that streams: whatever ends it, what was
 * delivered is billed. The upstream is a server of this file, which sends what a test asks for.
 */

const MEBIBYTE = 1024 * 1024

/** How a surface's upstream writes its stream. */
interface Wire {
  /** A piece of the answer with so much content. */
  readonly piece: (length: number) => string
  /** The frame that ends the result, with its figures and so much that repeats what came before. */
  readonly whole: (repeatedLength: number) => string
  /** Its bound on one frame is below this. */
  readonly overFrame: number
  /** Its bound on all of a stream is below this; absent: too much for a test. */
  readonly overLength?: number
}

const event = (data: object, type?: string): string =>
  `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(data)}\n\n`
const filler = (length: number): string => 'a'.repeat(length)
const textFrame = 18 * MEBIBYTE
/** The output tokens that upstream reports: as many as a piece of 1,000 letters can be. */
const FIGURE = 70

const surfaces: Readonly<Record<string, Wire>> = {
  chat: {
    piece: (length) => event({ choices: [{ index: 0, delta: { content: filler(length) } }] }),
    whole: (length) =>
      event({
        choices: [{ index: 0, delta: { content: filler(length) }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: FIGURE },
      }),
    overFrame: textFrame,
    overLength: 90 * MEBIBYTE,
  },
  responses: {
    piece: (length) =>
      event({ type: 'response.output_text.delta', item_id: 'm', delta: filler(length) }),
    whole: (length) => {
      const usage = { input_tokens: 5, output_tokens: FIGURE }
      const response = { id: 'r', instructions: filler(length), output: [], usage }
      return event({ type: 'response.completed', response: { ...response, status: 'completed' } })
    },
    overFrame: textFrame,
    overLength: 90 * MEBIBYTE,
  },
  native: {
    piece: (length) =>
      event({ candidates: [{ index: 0, content: { parts: [{ text: filler(length) }] } }] }),
    whole: (length) => {
      const content = { parts: [{ text: filler(length) }] }
      return event({
        candidates: [{ index: 0, content, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: FIGURE },
      })
    },
    overFrame: 82 * MEBIBYTE,
  },
  speech: {
    piece: (length) => event({ data: { audio: filler(length * 2), status: 1 }, base_resp: {} }),
    whole: (length) =>
      event({
        data: { audio: filler(length * 2), status: 2 },
        extra_info: { usage_characters: 7 },
        base_resp: { status_code: 0 },
      }),
    overFrame: 9 * MEBIBYTE,
    overLength: 20 * MEBIBYTE,
  },
  image: {
    piece: (length) => event({ type: 'image_generation.partial_image', b64_json: filler(length) }),
    whole: (length) => {
      const details = { text_tokens: 5, image_tokens: 0 }
      const usage = { input_tokens: 5, output_tokens: FIGURE, input_tokens_details: details }
      return event({ type: 'image_generation.completed', b64_json: filler(length), usage })
    },
    overFrame: 88 * MEBIBYTE,
  },
}

/** What the upstream does with each request. */
let script: (send: (text: string) => Promise<void>, response: ServerResponse) => Promise<void>
const server = createServer((request, response) => {
  request.resume()
  response.on('error', () => undefined)
  const send = async (text: string): Promise<void> => {
    if (response.write(text) || response.destroyed) return
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off('drain', done).off('close', done)
        resolve()
      }
      response.on('drain', done).on('close', done)
    })
  }
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    void script(send, response)
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => {
  server.closeAllConnections()
  server.close()
})
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const textWires: Readonly<Record<TextFamily, TextWire>> = {
  chat: chatWire,
  responses: responsesWire,
  native: nativeWire,
}

interface Given {
  readonly limits?: Partial<CallLimits>
  readonly settings?: object
  readonly timeoutMs?: number
  readonly body?: Readonly<Record<string, unknown>>
  readonly text?: string
}

/** A gateway of one surface over that upstream, without its stores. */
function gateway(t: Test, name: string, given: Given = {}) {
  const model = { speech: 'speech-2.8-hd', image: 'image-2.5-sunburst' }[name] ?? 'text-basic'
  const family = { family: name, models: { [model]: 'up' }, book: shippedBook }
  const { deps: inMemory, events } = memoryCallDeps(family)
  const settings = { largestOutputTokens: { [model]: 8_192 }, ...given.settings }
  const { timeoutMs = 20_000 } = given
  const channel: Channel = {
    ...family,
    id: 'one',
    region: 'overseas',
    baseUrl,
    credential: 'secret',
    weight: 1,
    priority: 0,
    maxConcurrent: 8,
    timeoutMs,
    settings,
  }
  const deps = {
    ...inMemory,
    limits: { ...defaultCallLimits, ...given.limits },
    channels: createChannelDirectory([channel], { catalog, clock: monotonicClock }),
  }
  const running = createRunningCalls(deps)
  const runner = createCallRunner(deps, running)
  const gone = new AbortController()
  const by = {
    principal: principalOf(),
    family: name,
    surface: `test.${name}`,
    requestId: 'req_1',
    model,
    callerGone: gone.signal,
  }
  const keptIds = createKeptIds('a secret of the tests')
  const { body = {}, text = 'good morning' } = given
  const stream = (): Promise<StreamedCall<{ readonly data: string }>> => {
    if (name === 'speech') {
      const provider = createSpeechProvider()
      t.teardown(() => provider.close())
      const asked = { model, text, voice_id: 'nova', stream: true, ...body }
      const request = readSpeech(asked, 'call')
      const voice = { voiceId: 'nova' }
      return runner.stream(createSpeechFamily(provider), { ...by, request, voice })
    }
    if (name === 'image') {
      const provider = createImageProvider(imageWire)
      t.teardown(() => provider.close())
      const all: ImageDeps = {
        ...deps,
        providers: new Map([[name, provider]]),
        fetchPublic: () => Promise.reject(new Error('nothing is fetched here')),
        imagePlace: undefined,
        openImageFile: () => Promise.reject(new Error('no files here')),
      }
      const fields = { stream: true, partial_images: 2, response_format: 'b64_json' }
      const request = readImageOrder(order({ ...fields, ...body }, { model }))
      return runner.stream(createImageFamily(all), { ...by, request })
    }
    const wire = name as TextFamily
    const provider = createTextProvider(textWires[wire])
    t.teardown(() => provider.close())
    const { channels } = deps
    const { callerGone } = by
    return runner.stream(
      createTextFamily({ wire: wires[wire], provider, channels, keptIds }),
      textInput({ family: wire, prompt: text, body, callerGone }),
    )
  }
  return { stream, events, gone, running }
}

/** Reads a stream to its end, as fast as it comes; what it ended with. */
async function readAll(frames: AsyncIterable<{ readonly data: string }>): Promise<{
  readonly seen: number
  readonly last: string
  readonly error: unknown
}> {
  let seen = 0
  let last = ''
  try {
    for await (const { data } of frames) {
      seen += 1
      last = data
    }
    return { seen, last, error: undefined }
  } catch (error) {
    return { seen, last, error }
  }
}

const charged = { code: 'upstream_unavailable', message: /The delivered part is charged/ }

for (const [name, wire] of Object.entries(surfaces)) {
  t.test(`${name}: a frame beyond its bound ends the stream, billed by its figures`, async (t) => {
    const { stream, events } = gateway(t, name, { text: filler(3_000) })
    script = async (send, response) => {
      await send(wire.piece(1_000))
      await send(wire.whole(wire.overFrame))
      response.end()
    }
    const { error, last } = await readAll((await stream()).frames)
    t.match(events, [{ type: 'CallSettled', data: { usage: Object } }])
    const [settled] = events
    if (settled?.type !== 'CallSettled') return
    t.not(settled.data.settlement.amount, '0')
    if (name === 'speech') {
      t.equal(error, undefined, 'the last frame repeats what was delivered')
      t.match(JSON.parse(last), { data: { audio: '', status: 2 }, extra_info: Object })
      t.match(settled.data, { outcome: 'completed', usage: { character: 7 } })
      return
    }
    t.match(error, charged)
    t.match(settled.data, { outcome: 'disconnected', endedBy: 'frame' })
    t.equal(settled.data.usage[name === 'image' ? 'image-output' : 'output'], FIGURE)
    t.ok(settled.data.settlement.lines.every(({ measurement }) => measurement === 'reported'))
  })

  const { overLength } = wire
  if (overLength !== undefined)
    t.test(`${name}: a stream beyond its length is ended, and billed as an estimate`, async (t) => {
      const { stream, events } = gateway(t, name)
      script = async (send, response) => {
        for (let sent = 0; sent < overLength; sent += MEBIBYTE) await send(wire.piece(MEBIBYTE))
        response.end()
      }
      t.match((await readAll((await stream()).frames)).error, charged)
      t.match(events, [{ type: 'CallSettled', data: { endedBy: 'length' } }])
    })

  t.test(`${name}: a provider that breaks off while held back by the caller is paid`, async (t) => {
    // More than can wait between upstream and a caller.
    const settings = { largestOutputTokens: { 'text-basic': 4 * MEBIBYTE } }
    const { stream, events } = gateway(t, name, { settings })
    let blocked = false
    script = async (send, response) => {
      const timer = setTimeout(() => {
        blocked = true
        response.destroy()
      }, 1_500)
      while (!response.destroyed) await send(wire.piece(64 * 1024))
      clearTimeout(timer)
    }
    const iterator = (await stream()).frames[Symbol.asyncIterator]()
    await iterator.next()
    await until(() => blocked)
    const { error } = await readAll({ [Symbol.asyncIterator]: () => iterator })
    t.match(error, charged)
    t.match(events, [{ type: 'CallSettled', data: { endedBy: 'pause' } }])
  })

  t.test(`${name}: a provider that breaks off unprovoked costs the caller nothing`, async (t) => {
    const { stream, events } = gateway(t, name)
    script = async (send, response) => {
      for (let n = 0; n < 20; n += 1) await send(wire.piece(1_000))
      await pause(50)
      response.destroy()
    }
    const { error } = await readAll((await stream()).frames)
    t.match(error, { code: 'upstream_unavailable', message: /broke off/ })
    t.match(events, [{ type: 'CallFailed', data: { absorbed: { settlement: Object } } }])
  })

  t.test(`${name}: a caller who left is billed up to the bound on reading on`, async (t) => {
    const settings = { drainTimeoutMs: 200 }
    const { stream, events, gone, running } = gateway(t, name, { settings, timeoutMs: 200 })
    script = async (send, response) => {
      while (!response.destroyed) {
        await send(wire.piece(1_000))
        await pause(20)
      }
    }
    const iterator = (await stream()).frames[Symbol.asyncIterator]()
    await iterator.next()
    gone.abort()
    await until(() => running.inFlight() === 0)
    t.match(events, [{ type: 'CallSettled', data: { outcome: 'disconnected', endedBy: 'drain' } }])
    const [settled] = events
    t.ok(settled?.type === 'CallSettled' && settled.data.settlement.amount !== '0')
  })

  t.test(`${name}: disabling its token ends a stream at once, billed`, async (t) => {
    const { stream, events, running } = gateway(t, name)
    script = async (send) => {
      await send(wire.piece(1_000))
      await send(wire.piece(1_000))
    }
    const iterator = (await stream()).frames[Symbol.asyncIterator]()
    await iterator.next()
    running.endOfToken('token_of_another')
    t.equal(running.inFlight(), 1)
    running.endOfToken(principalOf().tokenId)
    t.match((await readAll({ [Symbol.asyncIterator]: () => iterator })).error, charged)
    t.match(events, [{ type: 'CallSettled', data: { endedBy: 'token' } }])
  })

  t.test(`${name}: a stream that the process ends is billed, read or not`, async (t) => {
    for (const reads of [true, false]) {
      const { stream, events, running } = gateway(t, name)
      script = async (send) => {
        await send(wire.piece(1_000))
        await send(wire.piece(1_000))
      }
      const iterator = (await stream()).frames[Symbol.asyncIterator]()
      await iterator.next()
      const reading = reads && readAll({ [Symbol.asyncIterator]: () => iterator })
      t.equal(await running.close(20), true)
      t.match(events, [{ type: 'CallSettled', data: { endedBy: 'stop' } }])
      if (reading) t.match((await reading).error, charged)
    }
  })
}

for (const name of ['chat', 'native'])
  t.test(
    `${name}: frames after the end of a result are bounded, and the result is billed`,
    async (t) => {
      const { stream, events } = gateway(t, name, { limits: { maxWithheldBytes: 10_000 } })
      const wire = surfaces[name]!
      script = async (send, response) => {
        await send(wire.piece(100))
        await send(wire.whole(100))
        while (!response.destroyed) await send(wire.piece(1_000))
      }
      const { error, seen } = await readAll((await stream()).frames)
      t.equal(error, undefined)
      t.ok(seen > 10, 'what was withheld is delivered')
      t.match(events, [
        { type: 'CallSettled', data: { outcome: 'completed', usage: { output: Number } } },
      ])
    },
  )

t.test(
  'a stream far beyond the bound of its request is ended, and billed by its size',
  async (t) => {
    const bounds = {
      chat: { max_tokens: 100, n: 2 },
      responses: { max_output_tokens: 100 },
      native: { generationConfig: { maxOutputTokens: 100 } },
    }
    for (const [name, body] of Object.entries(bounds))
      for (const leaves of [false, true]) {
        const { stream, events, gone, running } = gateway(t, name, { body })
        script = async (send, response) => {
          while (!response.destroyed) await send(surfaces[name]!.piece(100))
        }
        const iterator = (await stream()).frames[Symbol.asyncIterator]()
        await iterator.next()
        if (leaves) gone.abort()
        else t.match((await readAll({ [Symbol.asyncIterator]: () => iterator })).error, charged)
        await until(() => running.inFlight() === 0)
        t.match(events, [{ type: 'CallSettled', data: { endedBy: 'length' } }], name)
        const [settled] = events
        const output = settled?.type === 'CallSettled' ? Number(settled.data.usage['output']) : 0
        t.ok(output > 1_000 && output <= 16_384, `${output} tokens, by what came`)
      }
  },
)

t.test('speech: a sound too long for one answer is refused, and streamed instead', async (t) => {
  const text = filler(9_900)
  const audio_setting = { format: 'pcm', sample_rate: 44_100, channel: 2 }
  const asked = { model: 'speech-2.8-hd', text, voice_id: 'nova', audio_setting }
  t.throws(() => readSpeech(asked, 'call'), {
    code: 'invalid_request',
    details: { param: 'audio_setting' },
  })
  const streamed = readSpeech({ ...asked, stream: true }, 'call')
  t.match(streamed.body, { stream_options: { exclude_aggregated_audio: true } })
  t.ok(readSpeech({ ...asked, output_format: 'url' }, 'call'))
  t.ok(readSpeech({ ...asked, audio_setting: {} }, 'call'), 'mp3 fits')
})
