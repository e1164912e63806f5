import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { defaultCallLimits, type CallLimits } from '../../../../src/app/calls/deps.ts'
import type { StreamedCall } from '../../../../src/app/calls/family.ts'
import { createImageFamily } from '../../../../src/app/calls/images/family.ts'
import type { ImageDeps } from '../../../../src/app/calls/images/types.ts'
import { createCallRunner, createRunningCalls } from '../../../../src/app/calls/running-calls.ts'
import { createChannelDirectory } from '../../../../src/app/channels/directory.ts'
import type { Channel } from '../../../../src/app/ports/provider.ts'
import { chatWire } from '../../../../src/families/chat/upstream/wire.ts'
import { readImageOrder } from '../../../../src/families/image/rules/request.ts'
import { imageWire } from '../../../../src/families/image/upstream/wire.ts'
import { catalog } from '../../../../src/families/index.ts'
import { createImageProvider } from '../../../../src/families/kit/image/client.ts'
import { messagesWire } from '../../../../src/families/messages/upstream/wire.ts'
import { nativeWire } from '../../../../src/families/native/upstream/wire.ts'
import { responsesWire } from '../../../../src/families/responses/upstream/wire.ts'
import { createSpeechFamily } from '../../../../src/families/speech/calls/family.ts'
import { readSpeech } from '../../../../src/families/speech/rules/request.ts'
import { createSpeechProvider } from '../../../../src/families/speech/upstream/client.ts'
import { createTextFamily } from '../../../../src/families/text/calls/family.ts'
import { createKeptIds } from '../../../../src/families/text/calls/kept-ids.ts'
import { createTextProvider, type TextWire } from '../../../../src/families/text/upstream/client.ts'
import { monotonicClock } from '../../../../src/kernel/clock.ts'
import { shippedBook } from '../../../domain/pricing/books.ts'
import { order } from '../../../families/image/rules/orders.ts'
import { type TextFamily, wires } from '../../../families/text/wires.ts'
import { principalOf } from '../../support/world.ts'
import { memoryCallDeps } from './call-deps.ts'
import { textInput } from './text-world.ts'

/** An upstream that sends what a test asks for, and gateways over it without their stores. */

/** What the upstream does with a request. */
export type Script = (
  send: (text: string) => Promise<void>,
  response: ServerResponse,
) => Promise<void> | void

let script: Script = (_send, response) => void response.end()

/** Sets what the upstream does with each request from now on, and how its answer begins. */
export function answerBy(
  next: Script,
  { status = 200, type = 'text/event-stream' }: { status?: number; type?: string } = {},
): void {
  script = next
  head = { status, type }
}

let head = { status: 200, type: 'text/event-stream' }
/** Where the upstream of the running file listens. */
let baseUrl = ''

/** Opens the upstream for the tests of a file; the next file of a process opens its own. */
export async function listen(t: Test): Promise<void> {
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
      response.writeHead(head.status, { 'content-type': head.type })
      void script(send, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const textWires: Readonly<Record<TextFamily, TextWire>> = {
  chat: chatWire,
  responses: responsesWire,
  native: nativeWire,
  messages: messagesWire,
}

interface Given {
  readonly limits?: Partial<CallLimits>
  readonly settings?: object
  readonly timeoutMs?: number
  readonly body?: Readonly<Record<string, unknown>>
  readonly text?: string
}

/** A gateway of one surface over that upstream, without its stores. */
export function gateway(t: Test, name: string, given: Given = {}) {
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
  const whole = () => {
    const wire = name as TextFamily
    const provider = createTextProvider(textWires[wire])
    t.teardown(() => provider.close())
    const { channels } = deps
    return runner.complete(
      createTextFamily({ wire: wires[wire], provider, channels, keptIds }),
      textInput({ family: wire, prompt: text, body, callerGone: by.callerGone }),
    )
  }
  return { stream, whole, events, gone, running }
}

/** Reads a stream to its end, as fast as it comes; what it ended with. */
export async function readAll(frames: AsyncIterable<{ readonly data: string }>): Promise<{
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
