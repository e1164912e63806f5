import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { readSpeech } from '../../../src/families/speech/rules/request.ts'
import { until } from '../../helpers/eventually.ts'
import { principalOf } from '../support/world.ts'
import { answerBy, gateway, listen, readAll } from './support/scripted-upstream.ts'

await listen(t)

/**
 * Every bound that can end a stream, at every surface that streams: whatever ends it, what was
 * delivered is billed. The upstream sends what a test asks for.
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

const charged = { code: 'upstream_unavailable', message: /The delivered part is charged/ }

for (const [name, wire] of Object.entries(surfaces)) {
  t.test(`${name}: a frame beyond its bound ends the stream, billed by its figures`, async (t) => {
    const { stream, events } = gateway(t, name, { text: filler(3_000) })
    answerBy(async (send, response) => {
      await send(wire.piece(1_000))
      await send(wire.whole(wire.overFrame))
      response.end()
    })
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
      answerBy(async (send, response) => {
        for (let sent = 0; sent < overLength; sent += MEBIBYTE) await send(wire.piece(MEBIBYTE))
        response.end()
      })
      t.match((await readAll((await stream()).frames)).error, charged)
      t.match(events, [{ type: 'CallSettled', data: { endedBy: 'length' } }])
    })

  t.test(`${name}: a provider that breaks off while held back by the caller is paid`, async (t) => {
    // More than can wait between upstream and a caller.
    const settings = { largestOutputTokens: { 'text-basic': 4 * MEBIBYTE } }
    const { stream, events } = gateway(t, name, { settings })
    let blocked = false
    answerBy(async (send, response) => {
      const timer = setTimeout(() => {
        blocked = true
        response.destroy()
      }, 1_500)
      while (!response.destroyed) await send(wire.piece(64 * 1024))
      clearTimeout(timer)
    })
    const iterator = (await stream()).frames[Symbol.asyncIterator]()
    await iterator.next()
    await until(() => blocked)
    const { error } = await readAll({ [Symbol.asyncIterator]: () => iterator })
    t.match(error, charged)
    t.match(events, [{ type: 'CallSettled', data: { endedBy: 'pause' } }])
  })

  t.test(`${name}: a provider that breaks off unprovoked costs the caller nothing`, async (t) => {
    const { stream, events } = gateway(t, name)
    answerBy(async (send, response) => {
      for (let n = 0; n < 20; n += 1) await send(wire.piece(1_000))
      await pause(50)
      response.destroy()
    })
    const { error } = await readAll((await stream()).frames)
    t.match(error, { code: 'upstream_unavailable', message: /broke off/ })
    t.match(events, [{ type: 'CallFailed', data: { absorbed: { settlement: Object } } }])
  })

  t.test(`${name}: a caller who left is billed up to the bound on reading on`, async (t) => {
    const settings = { drainTimeoutMs: 200 }
    const { stream, events, gone, running } = gateway(t, name, { settings, timeoutMs: 200 })
    answerBy(async (send, response) => {
      while (!response.destroyed) {
        await send(wire.piece(1_000))
        await pause(20)
      }
    })
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
    answerBy(async (send) => {
      await send(wire.piece(1_000))
      await send(wire.piece(1_000))
    })
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
      answerBy(async (send) => {
        await send(wire.piece(1_000))
        await send(wire.piece(1_000))
      })
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
      answerBy(async (send, response) => {
        await send(wire.piece(100))
        await send(wire.whole(100))
        while (!response.destroyed) await send(wire.piece(1_000))
      })
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
        answerBy(async (send, response) => {
          while (!response.destroyed) await send(surfaces[name]!.piece(100))
        })
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
