import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { eventually } from '../../helpers/eventually.ts'

/** What came back, whole: JSON where it is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into as users do
  readonly body: any
}

export const TASKS = '/provA/api/v3/contents/generations/tasks'

const PATIENCE_MS = 120_000

/** Asks without `fetch`, whose streams and checks cost as much as all that the gateway does for a refusal. */
export async function call(
  url: string,
  init: Pick<RequestInit, 'method' | 'headers' | 'body'> & { readonly token?: string } = {},
): Promise<Answer> {
  const { method = 'GET', token } = init
  const { type, bytes } = await sentOf(init.body)
  const given = new Headers(init.headers)
  if (token !== undefined) given.set('authorization', `Bearer ${token}`)
  if (type !== null && !given.has('content-type')) given.set('content-type', type)
  const response = await request(url, {
    method,
    headers: Object.fromEntries(given),
    body: bytes,
    signal: AbortSignal.timeout(PATIENCE_MS),
  })
  const text = await response.body.text()
  const headers = new Headers()
  for (const [name, values] of Object.entries(response.headers))
    for (const value of [values ?? ''].flat()) headers.append(name, value)
  const json = (headers.get('content-type') ?? '').includes('json')
  return {
    status: response.statusCode,
    headers,
    text,
    body: json && text !== '' ? JSON.parse(text) : undefined,
  }
}

/** Makes the shortest call of a token; returns the id of the call. */
export async function callOnce(url: string, token: string): Promise<string> {
  const { headers } = await call(`${url}/v1/chat/completions`, {
    method: 'POST',
    token,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hi' }] }),
  })
  return headers.get('x-call-id') ?? ''
}

/** A body as it is sent, with what says what it is. */
async function sentOf(
  body: RequestInit['body'] | undefined,
): Promise<{ readonly type: string | null; readonly bytes: Buffer | string | null }> {
  if (body === undefined || body === null) return { type: null, bytes: null }
  if (typeof body === 'string') return { type: 'text/plain;charset=UTF-8', bytes: body }
  const whole = new Response(body)
  return { type: whole.headers.get('content-type'), bytes: Buffer.from(await whole.arrayBuffer()) }
}

/** A body every rule accepts, with these members instead. */
export function taskBody(members: Readonly<Record<string, unknown>> = {}): object {
  const { prompt, ...rest } = members
  const text = typeof prompt === 'string' ? prompt : 'a paper boat crosses a puddle'
  return {
    model: 'domestic-video-2-0',
    content: [{ type: 'text', text }],
    duration: 5,
    resolution: '720p',
    ...rest,
  }
}

/** The `/provA` tasks of one gateway as one token sees them. */
interface Tasks {
  readonly create: (
    members?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
  /** Creates and answers with the native id. @throws when it was not accepted */
  readonly created: (members?: Readonly<Record<string, unknown>>) => Promise<string>
  readonly get: (id: string) => Promise<Answer>
  readonly list: (query?: string) => Promise<Answer>
  readonly del: (id: string) => Promise<Answer>
  /** Queries until the task has this status. */
  readonly reaches: (id: string, status: string) => Promise<Answer>
}

export function tasksOf(url: string, token: string): Tasks {
  const at = (path: string) => `${url}${TASKS}${path}`
  const create: Tasks['create'] = (members, headers = {}) =>
    call(at(''), {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(taskBody(members)),
    })
  const get: Tasks['get'] = (id) => call(at(`/${id}`), { token })
  return {
    create,
    created: async (members) => {
      const answer = await create(members)
      if (answer.status !== 200) throw new Error(`not created: ${answer.status} ${answer.text}`)
      return String(answer.body.id)
    },
    get,
    list: (query = '') => call(at(query === '' ? '' : `?${query}`), { token }),
    del: (id) => call(at(`/${id}`), { method: 'DELETE', token }),
    reaches: (id, status) =>
      eventually(`${id} ${status}`, async () => {
        const answer = await get(id)
        return answer.body?.status === status ? answer : undefined
      }),
  }
}

/** The finance and support queries of one gateway as one token sees them. */
export function queriesOf(url: string, token: string) {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    call(`${url}/api/query/v1${path}`, { token, headers })
  // Tests look into what these have: a refusal says more than that a member is missing.
  const answered = async (path: string, query: string) => {
    const answer = await get(query === '' ? path : `${path}?${query}`)
    if (answer.status < 500) return answer
    throw new Error(`${path}?${query} was answered ${answer.status}: ${answer.text}`)
  }
  return {
    get,
    lines: (query = '') => answered('/ledger/lines', query),
    summary: (query = '') => answered('/ledger/summary', query),
    history: (id: string) => get(`/tasks/${id}/history`),
  }
}

/** Every header but those that differ with every answer. */
export function steadyHeaders(answer: Answer): Record<string, string> {
  const entries = [...answer.headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
  return Object.fromEntries(entries)
}

/** One delivery as the receiver saw it. */
interface Delivery {
  readonly path: string
  readonly host: string
  readonly headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- every family has a shape of its own
  readonly body: any
}

interface Receiver {
  /** `http://127.0.0.1:port`. */
  readonly origin: string
  readonly deliveries: readonly Delivery[]
  readonly close: () => Promise<void>
}

/** A caller's own server for callbacks, on this machine. */
export async function startReceiver(): Promise<Receiver> {
  const deliveries: Delivery[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      const { url: path = '', headers } = request
      deliveries.push({ path, host: headers.host ?? '', headers, body })
      // Some upstreams ask first whether they may call; `/mute` does not say so.
      response.end(JSON.stringify(path === '/mute' ? {} : { challenge: body.challenge }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    deliveries,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The model whose account answers with the bytes of the audio. */
export const RAW = 'speech-2.8-turbo'

/** The channels of a stack with that account beside what it had. */
export function withRawSpeech(ours: readonly Channel[]): readonly Channel[] {
  return ours.flatMap((channel) => {
    const { [RAW]: raw, ...models } = channel.models
    if (channel.family !== 'speech' || raw === undefined) return [channel]
    const other = { id: 'raw', models: { [RAW]: raw }, settings: { audioMode: 'hex' } }
    return [
      { ...channel, models },
      { ...channel, ...other },
    ]
  })
}
