import { Pool } from 'pg'
import type { RunJob } from '../../src/app/finance/statements/process.ts'
import type { TreeJob } from '../../src/app/finance/statements/tree.ts'
import { pause } from '../../src/kernel/pause.ts'
import { acquireDatabase } from '../helpers/postgres.ts'
import { fillMonth, monthOf, startJobs } from './close.ts'
import { type Benchmark, type Figure, percentile } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { paced } from './kit/paced.ts'
import { sized, sizeFrom, TENANTS } from './kit/sizes.ts'
import { startTollgate, startUpstream, tryOut } from './kit/text-rows.ts'

/**
 * How long callers wait, and how far the ledger is behind, while the tree of a large month is built again and again,
 * and without it, in turns. The month stands in another Postgres on the same processors.
 */

const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(3, 1))
const SECONDS = sizeFrom('BENCH_SECONDS', sized(15, 2))
const PER_SECOND = sized(200, 50)
const CONNECTIONS = 512
const LOOK_MS = 250

/** Looks at something until the work is done; the largest. */
async function mostDuring<Done>(
  look: () => Promise<number>,
  work: Promise<Done>,
): Promise<readonly [Done, number]> {
  const ended = new AbortController()
  let most = 0
  const looking = (async () => {
    while (!ended.signal.aborted) {
      most = Math.max(most, await look())
      await pause(LOOK_MS, ended.signal)
    }
  })()
  const done = await work.finally(() => ended.abort())
  await looking
  return [done, most]
}

async function buildUntil(run: RunJob, job: TreeJob, over: AbortSignal): Promise<void> {
  while (!over.aborted) await run('tree', job)
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row, gateway } = await startTollgate(closers, upstream.url)
    await tryOut(row)
    const durable = { ...row, tokens: await gateway.tenants(TENANTS) }
    const database = await acquireDatabase()
    closers.later(() => database.drop())
    const pool = new Pool({ connectionString: database.url, max: 2 })
    closers.later(() => pool.end())
    await fillMonth(pool)
    const child = startJobs(database.url)
    closers.later(() => child.stop())
    const { job } = await monthOf(pool)
    const order = {
      perSecond: PER_SECOND,
      seconds: SECONDS,
      warmUpSeconds: 2,
      connections: CONNECTIONS,
    }
    await paced(durable, { ...order, seed: 0, seconds: 2 * SECONDS })
    const kinds = ['nothing is closed', 'a month is closed'] as const
    const micros = new Map<string, number[]>(kinds.map((kind) => [kind, []]))
    const lags = new Map<string, number>()
    for (let round = 1; round <= ROUNDS; round += 1)
      for (const kind of kinds) {
        await gateway.settled()
        const over = new AbortController()
        const building =
          kind === 'a month is closed' ? buildUntil(child.run, job, over.signal) : undefined
        const [result, lag] = await mostDuring(
          () => gateway.metric('tollgate_projection_lag_seconds'),
          paced(durable, { ...order, seed: round }),
        )
        over.abort()
        await building
        for (const time of result.micros) micros.get(kind)?.push(time)
        lags.set(kind, Math.max(lags.get(kind) ?? 0, lag))
        tell(`close-load, round ${round}: ${kind}`)
      }
    return kinds.flatMap((kind): readonly Figure[] => [
      ...[50, 99].map((p) => ({
        name: `callers at ${PER_SECOND}/s while ${kind}, p${p}`,
        value: percentile(micros.get(kind) ?? [], p) / 1_000,
        unit: 'ms',
      })),
      {
        name: `read models are behind at most while ${kind}`,
        value: lags.get(kind) ?? 0,
        unit: 's',
      },
    ])
  })
