import { catalog } from '../../../../src/families/index.ts'
import { Registry } from 'prom-client'
import { type CallDeps, defaultCallLimits } from '../../../../src/app/calls/deps.ts'
import { createDrains } from '../../../../src/app/calls/drains.ts'
import { createCallMetrics } from '../../../../src/app/calls/metrics.ts'
import { createChannelDirectory } from '../../../../src/app/channels/directory.ts'
import { noCrash } from '../../../../src/app/crash-points.ts'
import type { Channel } from '../../../../src/app/ports/provider.ts'
import { createAccountFacts } from '../../../../src/app/accounts/account-facts.ts'
import { createReplicaGauges } from '../../../../src/app/spending/replica-gauges.ts'
import { createThrottle } from '../../../../src/app/spending/throttle/throttle.ts'
import type { CallEvent } from '../../../../src/domain/call/events.ts'
import type { PriceBook } from '../../../../src/domain/pricing/price-book.ts'
import { silentLog } from '../../../../src/kernel/log.ts'

/** Two channels of a family, and what it is sold at. */
interface Offered extends Pick<Channel, 'family' | 'models' | 'largestImageCounts'> {
  readonly book: PriceBook
}

/** What synchronous calls depend on, in memory, with the events recorded and the ends of holds. */
/** A journal to which nothing is recorded. */
export const idleJournal = { pending: () => 0, requireWritable: () => undefined }

export function memoryCallDeps({ book, ...offered }: Offered) {
  const events: CallEvent[] = []
  const ends: string[] = []
  const clock = { nowMs: () => 1_700_000_000_000 }
  const away = { query: () => Promise.reject(new Error('nothing is shared here')) }
  const gauges = createReplicaGauges({ db: away, replica: 'replica_1', clock })
  const channels = ['one', 'two'].map((id, priority): Channel => ({
    id,
    region: 'overseas',
    baseUrl: 'https://upstream.example.test',
    credential: 'secret',
    ...offered,
    weight: 1,
    priority,
    timeoutMs: 1_000,
    maxConcurrent: 8,
  }))
  const deps: CallDeps = {
    catalog,
    log: { healthy: () => true, ready: () => Promise.resolve() },
    journal: {
      record: (event) => {
        events.push(event)
        return Promise.resolve({ position: 7n })
      },
      ...idleJournal,
    },
    channels: createChannelDirectory(channels, { catalog, clock }),
    prices: { of: () => Promise.resolve(book) },
    labels: { of: () => ({}) },
    tenantAccess: { checkCreation: () => undefined },
    funds: {
      reserve: (_tenant, currency, pico) => {
        ends.push(`hold ${pico} ${currency}`)
        let open = true
        const end = (how: string): void => {
          if (open) ends.push(how)
          open = false
        }
        return Promise.resolve({
          commit: ({ amountPico, position }) => end(`commit ${amountPico} at ${position}`),
          release: (why) => end(why),
        })
      },
      lookAtLedger: () => undefined,
      report: () => Promise.resolve(),
    },
    budgets: { reserve: () => Promise.resolve(undefined) },
    gauges,
    throttle: createThrottle({
      facts: createAccountFacts({ log: { readStream: () => Promise.resolve([]) } }, clock),
      gauges,
      monotonic: clock,
    }),
    claims: { take: () => Promise.reject(new Error('no call here has a key')) },
    drains: createDrains(),
    metrics: createCallMetrics(new Registry()),
    clock,
    logger: silentLog,
    crashPoint: noCrash,
    limits: defaultCallLimits,
  }
  return { deps, events, ends }
}
