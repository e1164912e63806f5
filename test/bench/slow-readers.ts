import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile, type Benchmark, type Figure } from './figure.ts'
import { type Closers, withClosers } from './kit/closers.ts'
import { chatSettings, SPEECH_MODEL, startGateway } from './kit/gateway.ts'
import { sized } from './kit/sizes.ts'
import { startUpstream } from './kit/text-rows.ts'

/**
 * One tenant opens many streams, reads nothing of them, and hangs up: how long the calls of another
 * tenant, on another channel and upstream, take meanwhile. The upstream of the streams writes as fast
 * as it is read.
 */

const STREAMS = sized(450, 20)
const BLOCK = Buffer.from(
  'data: {"choices":[{"index":0,"delta":{"content":"paper boat "},"finish_reason":null}]}\n\n'.repeat(
    500,
  ),
)
const BLOCKS = 200
const QUIET_MS = sized(5_000, 1_000)
const AFTER_MS = sized(12_000, 1_000)
const PROBE_EVERY_MS = 50

/** Streams that never end by themselves before they are read. */
async function startFastUpstream(closers: Closers): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let left = BLOCKS
      const write = (): void => {
        while (left > 0 && !response.destroyed) {
          left -= 1
          if (!response.write(BLOCK)) {
            response.once('drain', write)
            return
          }
        }
      }
      write()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.later(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function openUnread(url: string, token: string): Socket {
  const { hostname, port } = new URL(url)
  const body = JSON.stringify({
    model: 'text-basic',
    stream: true,
    messages: [{ role: 'user', content: 'hello' }],
  })
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return socket
}

/** Makes calls at an even pace until it is stopped; the time that each took, and refusals. */
function probe(url: string, token: string) {
  const micros: number[] = []
  let refused = 0
  const under = new Set<Promise<void>>()
  const ask = async (): Promise<void> => {
    const began = performance.now()
    const answer = await fetch(`${url}/provB/v1/t2a_v2`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: SPEECH_MODEL, text: 'hello', voice_id: 'male-qn-qingse' }),
    })
    await answer.arrayBuffer()
    micros.push((performance.now() - began) * 1_000)
    if (!answer.ok) refused += 1
  }
  const timer = setInterval(() => {
    const one = ask().catch(() => void (refused += 1))
    under.add(one)
    void one.finally(() => under.delete(one))
  }, PROBE_EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await Promise.all(under)
      return { micros, refused }
    },
  }
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const fast = await startFastUpstream(closers)
    const settings = await chatSettings(upstream.url)
    closers.later(settings.remove)
    const channels = String(settings.env['CHANNELS_FILE'])
    const written = await readFile(channels, 'utf8')
    await writeFile(channels, written.replace(`${upstream.url}/v1`, `${fast}/v1`))
    const gateway = closers.add(await startGateway({ ...settings.env, LOG_LEVEL: 'warn' }))
    const [noisy = '', other = ''] = await gateway.tenants(2)
    const figures: Figure[] = []
    const during = async (when: string, work: () => Promise<void>): Promise<void> => {
      const probing = probe(gateway.url, other)
      await work()
      const { micros, refused } = await probing.stop()
      const note = `${micros.length} calls, ${refused} refused`
      for (const [name, p] of [
        ['p50', 50],
        ['p99', 99],
        ['longest', 100],
      ] as const)
        figures.push({
          name: `a call of another tenant, ${when}, ${name}`,
          value: percentile(micros, p) / 1_000,
          unit: 'ms',
          note,
        })
    }
    await during('in quiet', () => sleep(QUIET_MS))
    const sockets: Socket[] = []
    await during(`while ${STREAMS} streams open that read nothing`, async () => {
      for (let n = 0; n < STREAMS; n += 1) sockets.push(openUnread(gateway.url, noisy))
      await sleep(AFTER_MS)
    })
    await during('after they hung up', async () => {
      for (const socket of sockets) socket.destroy()
      await sleep(AFTER_MS)
    })
    return figures
  })
