import type { JobKinds } from '../../src/app/finance/statements/jobs.ts'
import { issued, monthOf } from '../app/finance/statements/document/support/source.ts'
import { startJobs } from './close.ts'
import { type Figure, percentile } from './figure.ts'
import { build } from './kit/build.ts'
import { cpuMs } from './kit/cpu.ts'
import { peakMib } from './kit/process.ts'
import { sized } from './kit/sizes.ts'

/** How long a statement takes to be rendered as PDF in the child process, and how large it is. */

const ROUNDS = sized(40, 3)
const SKUS = 40
const MANY_SKUS = sized(1_000, 100)
const USER_ROWS = sized(5_000, 100)

type Source = JobKinds['pdf']['input']['source']

function ofSkus(count: number): Source {
  const usagePico = Array.from({ length: count }, (_, n) => BigInt(n + 1) * 123_456_789_012n)
  const period = monthOf({ openingPico: 1n, usagePico, refundsPico: [7n], creditPico: [9n] })
  const sums = period.sums.map((sum, n) => ({ ...sum, sku: `overseas-video-2-5-${n}-novideo` }))
  return { ...issued, period: { ...period, sums } }
}

function ofUsers(count: number): Source {
  const users = Array.from({ length: count }, (_, n) => {
    return { userId: `user_${n % 500}`, model: `model-${n}`, lines: n, amount: `${n}.25` }
  })
  return { ...ofSkus(SKUS), users }
}

export async function run(): Promise<readonly Figure[]> {
  await build()
  // Paper is made of what it is given: nothing listens here, and nothing is read.
  const child = startJobs('postgres://127.0.0.1:1/none')
  const timed = async (source: Source) => {
    const beganMs = performance.now()
    const { length } = await child.run('pdf', { source })
    return { ms: performance.now() - beganMs, kib: Math.round(length / 1_024) }
  }
  const usual = ofSkus(SKUS)
  const first = await timed(usual)
  const pid = child.pid() ?? 0
  const before = (await cpuMs(pid))['own'] ?? 0
  const times: number[] = []
  for (let n = 0; n < ROUNDS; n += 1) times.push((await timed(usual)).ms)
  const cpu = ((await cpuMs(pid))['own'] ?? 0) - before
  const many = await timed(ofSkus(MANY_SKUS))
  const users = await timed(ofUsers(USER_ROWS))
  const memoryMib = Math.round(peakMib(pid))
  await child.stop()
  const most = { bound: 'most' } as const
  const seconds = (ms: number): number => Number((ms / 1_000).toFixed(2))
  return [
    {
      name: `the first statement of ${SKUS} SKUs as PDF, with the start of the child`,
      value: seconds(first.ms),
      unit: 's',
      reach: 2,
      ...most,
      note: `${first.kib} KiB`,
    },
    {
      name: `a further one, p95`,
      value: seconds(percentile(times, 95)),
      unit: 's',
      reach: 0.5,
      ...most,
      note: `p50 ${seconds(percentile(times, 50))} s, ${Math.round(cpu / ROUNDS)} ms of processor time each`,
    },
    {
      name: `one of ${MANY_SKUS.toLocaleString('en')} SKUs`,
      value: seconds(many.ms),
      unit: 's',
      note: `${many.kib} KiB`,
    },
    {
      name: `one with ${USER_ROWS.toLocaleString('en')} rows of users and models`,
      value: seconds(users.ms),
      unit: 's',
      note: `${users.kib} KiB`,
    },
    { name: 'resident memory of the child', value: memoryMib, unit: 'MiB', reach: 250, ...most },
  ]
}
