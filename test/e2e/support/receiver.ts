import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One delivery as the receiver saw it. */
export interface Delivery {
  readonly path: string
  readonly host: string
  readonly headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- every family has a shape of its own
  readonly body: any
}

export interface Receiver {
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
