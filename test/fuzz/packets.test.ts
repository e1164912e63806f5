import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startSandbox } from '../../infra/sandbox/server.ts'
import { readyOperations } from '../api/support/operations.ts'
import { call, TASKS, taskBody } from '../e2e/support/client.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { sharedStack } from '../helpers/stack.ts'
import { makePacket, seededPicks, sendPacket, type Target } from './packet-support.ts'

/**
 * Malformed and cut requests on raw sockets: none ends the process, and every other caller is served
 * meanwhile. `PACKETS_SEED` sends others.
 */

const PACKETS = propertyRuns(1_500)
const SEED = Number(process.env['PACKETS_SEED'] ?? 43)
const AT_ONCE = 16
/** So many packets, then a request in order. */
const BETWEEN = 50
/** A busy machine takes longer; only a standstill is a failure. */
const PATIENCE_MS = 60_000 + PACKETS * 60
t.setTimeout(PATIENCE_MS)

let uncaught = 0
const count = (): void => void (uncaught += 1)
process.on('uncaughtExceptionMonitor', count)
t.teardown(() => process.off('uncaughtExceptionMonitor', count))

const stack = await sharedStack(t)
const { demo } = stack
const sandbox = await startSandbox()
t.teardown(() => sandbox.close())
const operations = await readyOperations()
await operations.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => operations.close())

const chat = { model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }
const begun: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { ...chat, stream: true },
  '/v1/responses': { model: 'text-basic', input: 'hello', stream: true },
  '/v1beta/models/text-basic:streamGenerateContent': {
    contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
  },
  '/v1/images/generations': { model: 'image-2', prompt: 'a boat', size: '1024x1024' },
  '/provB/v1/t2a_v2': { model: 'speech-2.8-hd', voice_id: 'nova', text: 'a boat', stream: true },
  '/v1/videos': { model: 'domestic-video-2-0', prompt: 'a boat' },
  [TASKS]: taskBody(),
}
const bodies = Object.entries(begun).map(([path, body]) => ({
  line: `POST ${path}`,
  body: JSON.stringify(body),
}))

/** `POST /v1/x` of every described route. */
async function describedRoutes(): Promise<readonly string[]> {
  const { paths } = (await call(`${stack.url}/openapi.json`)).body
  return Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) => `${method.toUpperCase()} ${path.replace(/\{[^}]*\}/g, 'x')}`,
    ),
  )
}

const portOf = (url: string): number => Number(new URL(url).port)
const refused = ['', 'sk-', 'nonsense', 'a b']

async function targets(): Promise<
  readonly (Target & { readonly inOrder: () => Promise<number> })[]
> {
  const routes = await describedRoutes()
  const credentials = [demo.modelToken, demo.modelToken, demo.profileToken, demo.queryToken]
  const statusOf = async (url: string) => (await call(url)).status
  return [
    {
      name: 'the gateway',
      port: portOf(stack.url),
      routes,
      credentials: [...credentials, demo.adminToken, ...refused],
      bodies,
      inOrder: async () =>
        (
          await call(`${stack.url}/v1/chat/completions`, {
            method: 'POST',
            token: stack.other.modelToken,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(chat),
          })
        ).status,
    },
    {
      name: 'the operations port',
      port: (operations.server.address() as AddressInfo).port,
      routes: ['GET /healthz', 'GET /readyz', 'GET /metrics'],
      credentials: refused,
      bodies,
      inOrder: () =>
        statusOf(`http://127.0.0.1:${(operations.server.address() as AddressInfo).port}/readyz`),
    },
    {
      name: 'the sandbox',
      port: sandbox.port,
      routes: [
        ...routes,
        'POST /__sandbox/reset',
        'GET /__sandbox/faults',
        'POST /__sandbox/faults',
        'GET /__sandbox/log',
        'GET /__sandbox/calls',
      ],
      credentials: ['sandbox', ...refused],
      bodies: bodies.map((one) => ({ ...one, line: one.line.replace('/provA', '') })),
      inOrder: () => statusOf(`${sandbox.url}/__sandbox/health`),
    },
  ]
}

void t.test(
  'no malformed or truncated request ends the process or delays other requests',
  async (t) => {
    t.setTimeout(PATIENCE_MS)
    const picks = seededPicks(SEED)
    const answers = new Map<string, number>()
    const unserved: string[] = []
    const all = await targets()
    const longest = Math.max(...all.map(({ name }) => name.length))
    let left = PACKETS
    const sender = async (): Promise<void> => {
      while (left > 0) {
        left -= 1
        // Half of them go to the gateway.
        const target = all[Math.max(0, picks.below(4) - 1)] ?? all[0]
        if (target === undefined) return
        const isTurn = left % BETWEEN === 0
        const status = await sendPacket(target.port, makePacket(picks, target))
        const key = `${target.name.padEnd(longest)} ${status ?? 'no answer'}`
        answers.set(key, (answers.get(key) ?? 0) + 1)
        if (!isTurn) continue
        for (const { name, inOrder } of all) {
          const served = await inOrder().catch(String)
          if (served !== 200) unserved.push(`${name}: ${served}`)
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, sender))
    for (const line of [...answers].map(([key, times]) => `${key}: ${times}`).toSorted())
      t.comment(line)
    t.same(unserved, [], `${Math.ceil(PACKETS / BETWEEN)} requests in order were answered by each`)
    t.equal(uncaught, 0, `${PACKETS} packets of seed ${SEED}`)
    const answered = [...answers.keys()].filter((key) => /[24]\d\d$/.test(key)).length
    // On a busy machine more packets are given up without an answer.
    t.ok(answered > 10, 'the packets get far: answers of many kinds')
    t.notOk(
      [...answers.keys()].some((key) => key.endsWith('500')),
      'none is a fault of the gateway',
    )
  },
)
