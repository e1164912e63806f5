import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { type Test } from 'tap'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import { wallClock } from '../../../../src/kernel/clock.ts'
import { createAssetProvider } from '../../../../src/families/video-a/library/client.ts'

/** An upstream that keeps assets, as far as one answer goes: it believes nothing but signatures. */

const KEY = { id: 'AKTESTKEY', secret: 'SKTEST+secret/==', region: 'test-region-1' } as const

/** A request as it came. */
export interface Asked {
  readonly method: string | undefined
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

/** Why the signature of a request cannot be believed; undefined where it can. */
export function faultOfSignature(request: IncomingMessage, body: Buffer): string | undefined {
  const hex = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')
  const hmac = (key: string | Buffer, text: string): Buffer =>
    createHmac('sha256', key).update(text).digest()
  const said =
    /^HMAC-SHA256 Credential=([^/]+)\/((\d{8})\/([^/]+)\/([^/]+)\/request), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    )
  if (said === null) return 'no authorization'
  const [, id, scope, day = '', region, service, names = '', signature] = said
  if (id !== KEY.id || region !== KEY.region || service !== 'ark') return 'the scope'
  const date = String(request.headers['x-date'])
  if (!date.startsWith(day) || !/^\d{8}T\d{6}Z$/.test(date)) return 'the date'
  const bodyHash = hex(body)
  if (request.headers['x-content-sha256'] !== bodyHash) return 'the hash of the body'
  for (const name of ['host', 'x-date', 'x-content-sha256', 'content-type'])
    if (!names.split(';').includes(name)) return `${name} is not signed`
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const lines = names.split(';').map((name) => `${name}:${String(request.headers[name])}\n`)
  const sorted = query.split('&').sort().join('&')
  const canonical = `${request.method}\n${path}\n${sorted}\n${lines.join('')}\n${names}\n${bodyHash}`
  const toSign = `HMAC-SHA256\n${date}\n${scope}\n${hex(canonical)}`
  const keyOfDay = hmac(KEY.secret, day)
  const key = hmac(hmac(hmac(keyOfDay, KEY.region), 'ark'), 'request')
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'the signature'
}

const metadata = (asked: Asked, more: object = {}): object => ({
  RequestId: '20260102030405ABCDEF0123456789',
  Action: asked.query['Action'],
  Version: '2024-01-01',
  Service: 'ark',
  Region: KEY.region,
  ...more,
})

/** What upstream writes around a result. */
export function enveloped(asked: Asked, result: object): object {
  return { ResponseMetadata: metadata(asked), Result: result }
}

/** How upstream refuses. */
export function refused(asked: Asked, error: object): object {
  return { ResponseMetadata: metadata(asked, { Error: error }) }
}

export function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** A channel with a library at this address. */
export function channelAt(
  baseUrl: string,
  library: Partial<NonNullable<Channel['library']>> = {},
): Channel {
  return {
    id: 'channel-1',
    family: 'video-a',
    region: 'overseas',
    baseUrl: 'https://data.acmecloud.test/api/v3',
    credential: 'credential-1',
    models: { 'overseas-video-2-0': 'acmeseed-video-2-0-260128' },
    weight: 1,
    priority: 0,
    timeoutMs: 2_000,
    maxConcurrent: 4,
    redactWords: ['Acmecorp'],
    library: {
      baseUrl,
      signingRegion: KEY.region,
      accessKeyId: KEY.id,
      secretAccessKey: KEY.secret,
      verifiesPersons: true,
      ...library,
    },
  }
}

/** A library that answers requests it believes; another's are refused as upstream does. */
export async function openLibrary(
  t: Test,
  handler: (asked: Asked, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly channel: Channel; readonly asked: readonly Asked[] }> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const url = new URL(request.url ?? '', 'http://library.test')
      const one: Asked = {
        method: request.method,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: JSON.parse(body.toString('utf8')),
      }
      asked.push(one)
      const fault = faultOfSignature(request, body)
      if (fault === undefined) return handler(one, response)
      const error = { Code: 'SignatureDoesNotMatch', Message: `not believed: ${fault}` }
      answer(response, refused(one, error), 401)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, channel: channelAt(url), asked }
}

/** A library that always answers with this result, in its envelope. */
export function libraryWith(t: Test, result: object): ReturnType<typeof openLibrary> {
  return openLibrary(t, (asked, response) => answer(response, enveloped(asked, result)))
}

/** One that writes raw bytes to the socket. */
export async function openSocket(t: Test, onData: (socket: Socket) => void): Promise<Channel> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', () => onData(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return channelAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

export function provider(t: Test, clock = wallClock) {
  const created = createAssetProvider(clock)
  t.teardown(() => created.close())
  return created
}

export const options = () => ({ signal: new AbortController().signal, requestId: 'req_1' })

/** How a call failed. */
export async function failure(work: Promise<unknown>): Promise<ProviderError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ProviderError) return error
    throw error
  }
  throw new Error('it did not fail')
}
