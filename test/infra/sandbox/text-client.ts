import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import OpenAI from 'openai'
import type { CallView } from '../../../infra/sandbox/calls/store.ts'
import type { Sandbox } from '../../../infra/sandbox/server.ts'
import { call, until, type Loose, type Reply } from './client.ts'

export const CHAT = '/v1/chat/completions'
export const RESPONSES = '/v1/responses'

/** The official client, pointed at a sandbox, without retries. */
export function sdk(sandbox: Sandbox): OpenAI {
  return new OpenAI({ apiKey: 'test-key', baseURL: `${sandbox.url}/v1`, maxRetries: 0 })
}

/** A chat body with one user message. */
export function chatBody(prompt: string, more: object = {}): object {
  return { model: 'text-basic', messages: [{ role: 'user', content: prompt }], ...more }
}

/** A streamed chat body that asks for usage. */
export function chatStream(prompt: string, more: object = {}): object {
  return chatBody(prompt, { stream: true, stream_options: { include_usage: true }, ...more })
}

/** Posts to a native model, the credential in its own header. */
export function native(
  sandbox: Sandbox,
  target: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const key = { authorization: '', 'x-goog-api-key': 'test-key', ...headers }
  return call(sandbox.url, 'POST', `/v1beta/models/${target}`, body, key)
}

/** A native body with one user turn. */
export function nativeBody(prompt: string, more: object = {}): object {
  return { contents: [{ role: 'user', parts: [{ text: prompt }] }], ...more }
}

/** One server-sent event. */
export interface Event {
  readonly event: string | null
  readonly data: string
  readonly json: Loose
}

/** Events of a whole body, blocks split at the given line ends. */
export function eventsIn(text: string, eol = '\n'): readonly Event[] {
  const blocks = text.split(eol + eol).filter((block) => block !== '')
  return blocks.map((block) => {
    const lines = block.split(eol)
    const after = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    const data = after('data') ?? ''
    let json: unknown
    try {
      json = JSON.parse(data)
    } catch {
      json = undefined
    }
    return { event: after('event') ?? null, data, json }
  })
}

/** What one exchange gave before it ended, however it ended. */
export interface Wreck {
  readonly status: number
  readonly text: string
  /** The body ended as it was announced. */
  readonly complete: boolean
}

/** Posts and reads until the end or the break; `leaveAfter` bytes the caller hangs up. */
export async function read(
  url: string,
  body: object,
  more: { readonly leaveAfter?: number; readonly headers?: Record<string, string> } = {},
): Promise<Wreck> {
  const request = httpRequest(url, {
    method: 'POST',
    headers: {
      authorization: 'Bearer test-key',
      'x-goog-api-key': 'test-key',
      'content-type': 'application/json',
      ...more.headers,
    },
    timeout: 10_000,
    agent: false,
  })
  request.on('error', () => undefined)
  request.end(JSON.stringify(body))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (more.leaveAfter !== undefined && bytes >= more.leaveAfter) request.destroy()
  })
  await new Promise((resolve) => response.once('close', resolve))
  return {
    status: response.statusCode ?? 0,
    text: Buffer.concat(chunks).toString('utf8'),
    complete: response.complete,
  }
}

/** Sizes of the chunks of an answer (RFC 9112, 7.1), as they are on the wire. */
export async function chunksOf(url: string, body: object): Promise<readonly number[]> {
  const { hostname, port, pathname } = new URL(url)
  const text = JSON.stringify(body)
  const socket = connect(Number(port), hostname)
  socket.setTimeout(10_000, () => socket.destroy())
  socket.write(
    [
      `POST ${pathname} HTTP/1.1`,
      `host: ${hostname}:${port}`,
      'authorization: Bearer test-key',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
      '',
      text,
    ].join('\r\n'),
  )
  const received: Buffer[] = []
  for await (const bytes of socket) received.push(bytes as Buffer)
  const answer = Buffer.concat(received)
  const sizes: number[] = []
  let at = answer.indexOf('\r\n\r\n') + 4
  for (;;) {
    const end = answer.indexOf('\r\n', at)
    const size = Number.parseInt(answer.toString('latin1', at, end), 16)
    if (end === -1 || Number.isNaN(size)) throw new Error(`no chunk at byte ${at}`)
    if (size === 0) return sizes
    sizes.push(size)
    at = end + 2 + size + 2
  }
}

/** The only call of a client marker, once its exchange is over. */
export async function callOf(sandbox: Sandbox, marker: string): Promise<CallView> {
  const calls = await until(
    () => sandbox.calls({ client_marker: marker }),
    (found) => found.length > 0 && found.every((one) => one.finished),
  )
  if (calls.length !== 1) throw new Error(`${calls.length} calls of ${marker}`)
  return calls[0]!
}
