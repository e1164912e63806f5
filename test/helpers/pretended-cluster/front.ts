/**
 * The address of a pretended node: passes bytes on to the server behind it, until it is to be dead
 * (connections refused and broken, as after kill -9) or frozen (connections taken, nothing
 * answered, as after SIGSTOP).
 */

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { SOCKET_NAME } from '../../../infra/embedded/postgres/settings.ts'
import type { Test } from 'tap'
import { owned } from '../../../src/platform/owned.ts'

/** Ways in which a node can be silent. */
export type Silence = 'refuse' | 'freeze'

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

export class Front {
  readonly #host: string
  readonly #target: number | string
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  #port: number
  #silence: Silence | undefined

  private constructor(host: string, port: number, target: number | string) {
    this.#host = host
    this.#port = port
    this.#target = target
    this.#listener = owned(createServer({ pauseOnConnect: true }, (client) => this.#accept(client)))
  }

  /** Listens on a port, 0 for any, and passes on to another on the same host, or to the socket at a path. */
  static async open(host: string, port: number, target: number | string): Promise<Front> {
    const front = new Front(host, port, target)
    await front.#listen()
    return front
  }

  /** Stands before the store of a URL, which may be a socket in a folder; the URL leads to it. */
  static async before(store: string): Promise<{ readonly front: Front; readonly url: string }> {
    const url = new URL(store)
    const folder = decodeURIComponent(url.hostname)
    const target = url.port === '' ? join(folder, SOCKET_NAME) : Number(url.port)
    const front = await Front.open('127.0.0.1', 0, target)
    url.hostname = '127.0.0.1'
    url.port = String(front.port)
    return { front, url: url.href }
  }

  get port(): number {
    return this.#port
  }

  get silence(): Silence | undefined {
    return this.#silence
  }

  /** Falls silent; if it already is, it changes the way. */
  async fallSilent(how: Silence): Promise<void> {
    await this.recover()
    this.#silence = how
    if (how === 'freeze') for (const pair of this.#pairs) stopPassing(pair)
    else await this.#stopListening()
  }

  /** Answers again; frozen connections continue. */
  async recover(): Promise<void> {
    const was = this.#silence
    this.#silence = undefined
    if (was === 'refuse') await this.#listen()
    if (was === 'freeze') for (const pair of this.#pairs) pass(pair)
  }

  /** Breaks every connection; new ones are taken. */
  breakConnections(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.destroy()
    }
    this.#pairs.clear()
  }

  async close(): Promise<void> {
    if (this.#silence === 'refuse') return
    await this.#stopListening()
  }

  async #listen(): Promise<void> {
    this.#listener.listen(this.#port, this.#host)
    await once(this.#listener, 'listening')
    const address = this.#listener.address()
    if (address !== null && typeof address !== 'string') this.#port = address.port
  }

  async #stopListening(): Promise<void> {
    const closed = once(this.#listener, 'close')
    this.#listener.close()
    this.breakConnections()
    await closed
  }

  #accept(client: Socket): void {
    const target = this.#target
    const server =
      typeof target === 'string' ? owned(connect(target)) : owned(connect(target, this.#host))
    const pair = { client, server }
    this.#pairs.add(pair)
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.setNoDelay(true)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        other.destroy()
        this.#pairs.delete(pair)
      })
    }
    if (this.#silence !== 'freeze') pass(pair)
  }
}

function pass({ client, server }: Pair): void {
  client.pipe(server)
  server.pipe(client)
}

function stopPassing({ client, server }: Pair): void {
  client.unpipe(server)
  server.unpipe(client)
  client.pause()
  server.pause()
}

/** Stands before the store of a URL until the test ends. */
export async function standBefore(
  t: Pick<Test, 'teardown'>,
  store: string,
): Promise<{ readonly front: Front; readonly url: string }> {
  const before = await Front.before(store)
  t.teardown(() => before.front.close())
  return before
}
