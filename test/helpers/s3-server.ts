import { AwsV4Signer } from 'aws4fetch'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { S3Options } from '../../src/storage/s3/client.ts'

/** Checks signatures of version 4 as the real service does, by a signer that is not the client's. */

const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^,]+, ?SignedHeaders=([^,]+), ?Signature=(\w+)$/

interface Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

function dateOf(amzDate: string): number {
  return Date.parse(amzDate.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
}

async function ofHeaders(request: IncomingMessage, url: URL, account: Account): Promise<boolean> {
  const [, names, given] = SIGNED.exec(request.headers.authorization ?? '') ?? []
  if (names === undefined) return false
  const values = names.split(';').map((name) => [name, String(request.headers[name])] as const)
  const signer = new AwsV4Signer({
    ...account,
    method: request.method ?? '',
    url: url.href,
    headers: values
      .filter(([name]) => name !== 'host')
      .map(([name, value]): [string, string] => [name, value]),
    service: 's3',
    allHeaders: true,
    datetime: String(request.headers['x-amz-date']),
  })
  return (await signer.signature()) === given
}

async function ofQuery(request: IncomingMessage, url: URL, account: Account): Promise<boolean> {
  const given = url.searchParams.get('X-Amz-Signature')
  const datetime = url.searchParams.get('X-Amz-Date') ?? ''
  const endsAtMs = dateOf(datetime) + Number(url.searchParams.get('X-Amz-Expires')) * 1_000
  url.searchParams.delete('X-Amz-Signature')
  const signer = new AwsV4Signer({
    ...account,
    method: request.method ?? '',
    url: url.href,
    service: 's3',
    signQuery: true,
    datetime,
  })
  return endsAtMs > Date.now() && (await signer.signature()) === given
}

/** Whether a request is signed by the account, and its URL, if that is signed, not over. */
function isSigned(request: IncomingMessage, account: Account): Promise<boolean> {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`)
  return url.searchParams.has('X-Amz-Signature')
    ? ofQuery(request, url, account)
    : ofHeaders(request, url, account)
}

/** Fault of the server: it answers that it is busy or full. */
export type S3Trouble = 'none' | 'busy' | 'full'

/** An S3 server with one bucket, inside the test's own process, on a real socket and a real disk. */
interface S3Server {
  readonly options: S3Options
  /** Faults of the requests from now on, after so many objects that are still stored. */
  readonly trouble: (kind: S3Trouble, stillStored?: number) => void
  readonly stop: () => Promise<void>
}

const refusals = {
  forbidden: [403, 'SignatureDoesNotMatch'],
  busy: [503, 'SlowDown'],
  full: [507, 'XMinioStorageFull'],
} as const

function refuse(response: ServerResponse, kind: keyof typeof refusals): void {
  const [status, code] = refusals[kind]
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
}

export async function startS3Server(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-s3-'))
  const bucket = 'media'
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  })
  const { port } = await server.run()
  // The one account it has.
  const account = { region: 'us-east-1', accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' }
  // It believes every signature of this version.
  const [serve] = server.httpServer.listeners('request') as RequestListener[]
  let trouble: S3Trouble = 'none'
  let spared = 0
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const isWrite = request.method === 'PUT'
    if (spared > 0 && isWrite) spared -= 1
    // A full store still answers reads.
    else if (trouble !== 'none' && (isWrite || trouble !== 'full')) return refuse(response, trouble)
    void isSigned(request, account).then((signed) => {
      if (signed) serve?.(request, response)
      else refuse(response, 'forbidden')
    })
  }
  server.httpServer.removeAllListeners('request').on('request', onRequest)
  return {
    options: {
      ...account,
      endpoint: `http://127.0.0.1:${port}`,
      bucket,
      publicBaseUrl: undefined,
    },
    trouble: (kind, stillStored = 0) => {
      trouble = kind
      spared = stillStored
    },
    stop: async () => {
      server.httpServer.closeAllConnections()
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
