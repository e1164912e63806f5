import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'

/** A line of a log, as far as it is looked at here. */
export interface Line {
  readonly level: number
  readonly msg: string
}

/** A server that keeps what it logs. */
export function loggingServer(t: Test): {
  readonly app: FastifyInstance
  readonly logged: readonly Line[]
} {
  const logged: Line[] = []
  const write = (line: string): void => void logged.push(JSON.parse(line) as Line)
  const app = Fastify({ logger: { stream: { write } } })
  t.teardown(() => app.close())
  return { app, logged }
}

/** The bytes of a request whose body is whole: a server takes one that is not for broken off. */
export function post(path: string, connection: 'close' | 'keep-alive' = 'close'): string {
  const headers = 'content-type: application/json\r\ncontent-length: 2'
  return `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: ${connection}\r\n${headers}\r\n\r\n{}`
}

/** A caller that may stop reading, or go. */
export async function call(app: FastifyInstance, ...requests: readonly string[]): Promise<Socket> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(requests.join(''))
  return socket
}
