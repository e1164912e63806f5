import { connect, type AddressInfo, type Socket } from 'node:net'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { drain } from '../../../src/api/kit/bounds/drain.ts'
import { asModel, startApp, type Harness, type Replaced } from '../support/app.ts'
import { MemoryTexts } from '../support/memory-calls.ts'

const DRAIN_MS = 2_000

interface TextHarness extends Harness {
  readonly texts: MemoryTexts
  readonly post: (
    url: string,
    payload: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<LightMyRequestResponse>
}

/** The HTTP interface over text use cases in memory. */
export async function startText(t: Test, part: Replaced = {}): Promise<TextHarness> {
  const texts = new MemoryTexts()
  const harness = await startApp(part, texts)
  // Clients keep connections: closing alone would wait for them.
  t.teardown(async () => drain(harness.app, { boundMs: DRAIN_MS, unusedMs: 0 }))
  const post: TextHarness['post'] = async (url, payload, headers = {}) => {
    const request: InjectOptions = {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...asModel, ...headers },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    }
    return harness.app.inject(request)
  }
  return { ...harness, texts, post }
}

/** Listens on a free port; the address ends without a slash. */
export async function listen({ app }: Harness): Promise<string> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return `http://127.0.0.1:${portOf({ app })}`
}

function portOf({ app }: Pick<Harness, 'app'>): number {
  return (app.server.address() as AddressInfo).port
}

/** A raw connection that has sent a request and reads only when the test lets it. */
export function sendRaw(harness: Harness, path: string, payload: object): Socket {
  const body = JSON.stringify(payload)
  const socket = connect(portOf(harness), '127.0.0.1')
  socket.pause()
  socket.write(
    [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `authorization: ${asModel.authorization}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  )
  return socket
}

/** `data:` payloads of an event stream, in order. */
export function dataOf(text: string): string[] {
  return text
    .split('\n\n')
    .flatMap((block) => block.split('\n'))
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length))
}

export const chatPath = '/v1/chat/completions'
export const goodChat = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }

export const chatCompletion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'text-basic',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
