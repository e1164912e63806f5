import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { Registry } from 'prom-client'
import { createChannelDirectory } from '../../../../src/app/channels/directory.ts'
import { sandboxTextChannels } from '../../../helpers/sandbox-channels.ts'
import { createFunds } from '../../../../src/app/spending/funds.ts'
import { createKeptIds } from '../../../../src/app/calls/text/kept-ids.ts'
import { defaultCallLimits } from '../../../../src/app/calls/limits.ts'
import { createRunningCalls } from '../../../../src/app/calls/running.ts'
import { createCallMetrics } from '../../../../src/app/calls/metrics.ts'
import { createTextUseCases } from '../../../../src/app/calls/text/use-cases.ts'
import { crashPointFrom } from '../../../../src/app/crash-points.ts'
import { createRates } from '../../../../src/app/throttle/rates.ts'
import { createPriceBookSource } from '../../../../src/app/pricing/price-book.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { createJournal, newInstanceId } from '../../../../src/eventlog/journal/journal.ts'
import { monotonicClock, systemClock } from '../../../../src/kernel/clock.ts'
import { silentLog } from '../../../../src/kernel/log.ts'
import { createProviders } from '../../../../src/providers/registry.ts'
import type { TextFamily } from '../../../../src/app/calls/text/types.ts'
import { textInput } from './text-world.ts'

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
}

const order = JSON.parse(readFileSync(0, 'utf8')) as Order
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`)
const pool = new Pool({ connectionString: order.databaseUrl })
const log = createEventLog({ url: order.eventStoreUrl, namespace: order.namespace })
const providers = createProviders()
const instanceId = newInstanceId(Date.now())
const deps = {
  log,
  journal: createJournal({ log, instanceId, logger: silentLog }),
  channels: createChannelDirectory(sandboxTextChannels({ baseUrl: order.sandboxUrl }), {
    clock: systemClock,
  }),
  providers: providers.text,
  prices: createPriceBookSource(pool, systemClock),
  keptIds: createKeptIds('a secret of the tests'),
  funds: createFunds({
    pool,
    replica: instanceId,
    // The read models follow another log than this process writes.
    lag: { lagMs: () => 0, look: () => Promise.resolve() },
    clock: monotonicClock,
  }),
  rates: createRates({ clock: systemClock }),
  metrics: createCallMetrics(new Registry()),
  clock: systemClock,
  logger: silentLog,
  crashPoint: crashPointFrom(order.crashAt),
  limits: defaultCallLimits,
}
const calls = createTextUseCases(deps, createRunningCalls(deps))
const input = textInput({ family: order.family, prompt: order.prompt })
if (order.streamed) {
  const { frames } = await calls.stream(input)
  for await (const frame of frames) say({ frame: frame.data })
  say({ ended: true })
} else {
  await calls.complete(input)
  say({ ended: true })
}
process.exit(0)
