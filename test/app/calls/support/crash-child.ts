import { families } from '../../../../src/families/index.ts'
import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { Registry } from 'prom-client'
import { sandboxTextChannels } from '../../../helpers/sandbox-channels.ts'
import { createRunningCalls } from '../../../../src/app/calls/running-calls.ts'
import { crashPointFrom } from '../../../../src/app/crash-points.ts'
import { compose } from '../../../../src/start/compose.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { createJournal, newInstanceId } from '../../../../src/eventlog/journal/journal.ts'
import { createPresence } from '../../../../src/app/queue/presence.ts'
import { monotonicClock, systemClock } from '../../../../src/kernel/clock.ts'
import { isDomainError } from '../../../../src/kernel/errors.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import type { TextFamily } from '../../../families/text/wires.ts'
import type { CallClaim } from '../../../../src/app/calls/claims/types.ts'
import { keyedBy, textCalls, textInput } from './text-world.ts'

/** A process that makes one call and says, line by line, what its caller was given. */
interface Order {
  readonly eventStoreUrl: string
  readonly namespace: string
  readonly databaseUrl: string
  readonly sandboxUrl: string
  readonly crashAt: string
  readonly family: TextFamily
  readonly streamed: boolean
  readonly prompt: string
  /** Asked for under this key. */
  readonly key?: string
  /** Whether it says that it lives, as a gateway does. */
  readonly isPresent?: boolean
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const pool = new Pool({ connectionString: order.databaseUrl, pipeline: true })
const log = createEventLog({ url: order.eventStoreUrl, namespace: order.namespace })
const instanceId = newInstanceId(Date.now())
const parts = compose({
  families,
  ownRequestsPerMinute: 60_000,
  pool,
  log,
  channels: sandboxTextChannels({ baseUrl: order.sandboxUrl }),
  sandbox: true,
  markerSecret: 'a secret of the tests',
  pollRequestsPerSecond: 1,
  clock: systemClock,
  logger: silentLog,
  metrics: new Registry(),
  crashPoint: crashPointFrom(order.crashAt),
  // The read models follow another log than this process writes.
  lag: { lagMs: () => 0, look: () => Promise.resolve() },
})
const deps = {
  ...parts.calls(instanceId),
  journal: createJournal({ log, instanceId, logger: silentLog }),
}
const calls = textCalls(deps, createRunningCalls(deps))
if (order.isPresent) {
  const own = { pool, clock: systemClock, monotonic: monotonicClock, logger: silentLog }
  const presence = createPresence(own, instanceId, [])
  await presence.round()
  setInterval(() => void presence.round().catch(() => undefined), 1_000).unref()
}
let claim: CallClaim | undefined
const input = {
  ...textInput({ family: order.family, prompt: order.prompt }),
  ...(order.key === undefined ? {} : keyedBy(order.key, (taken) => (claim = taken))),
}
if (order.streamed) {
  const { frames } = await calls.stream(input)
  for await (const frame of frames) say({ frame: frame.data })
  say({ ended: true })
} else {
  const { body } = await calls.complete(input).catch((error: unknown) => {
    if (isDomainError(error)) say({ refused: error.code })
    throw error
  })
  // As a surface does.
  await claim?.keep({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(body)) })
  say({ ended: true })
}
process.exit(0)
