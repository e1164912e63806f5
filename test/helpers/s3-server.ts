import { mkdtemp, rm } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { S3Options } from '../../src/storage/s3/client.ts'
import { isSigned } from './s3-signatures.ts'

/** An S3 server with one bucket, inside the test's own process, on a real socket and a real disk. */
export interface S3Server {
  readonly options: S3Options
  readonly stop: () => Promise<void>
}

const FORBIDDEN =
  '<?xml version="1.0" encoding="UTF-8"?><Error><Code>SignatureDoesNotMatch</Code></Error>'

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
  server.httpServer.removeAllListeners('request').on('request', (request, response) => {
    void isSigned(request, account).then((signed) => {
      if (signed) serve?.(request, response)
      else response.writeHead(403, { 'content-type': 'application/xml' }).end(FORBIDDEN)
    })
  })
  return {
    options: {
      ...account,
      endpoint: `http://127.0.0.1:${port}`,
      bucket,
      publicBaseUrl: undefined,
    },
    stop: async () => {
      server.httpServer.closeAllConnections()
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
