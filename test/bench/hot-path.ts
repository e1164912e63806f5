import { createFingerprintOf } from '../../src/api/kit/bodies/body-fingerprint.ts'
import { createIdRewriter } from '../../src/families/text/upstream/answer-differences.ts'
import type { Benchmark, Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

/** What support's facts cost each call: functions alone, without a gateway. */

const TIMES = sized(1_000_000, 1_000)
const ROUNDS = 5

/** Processor time of one run in microseconds, the least of all rounds. */
function costUs(work: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const begun = process.cpuUsage()
    for (let times = 0; times < TIMES; times += 1) work()
    const { user, system } = process.cpuUsage(begun)
    return (user + system) / TIMES
  })
  return Math.min(...rounds)
}

function figureOf(name: string, reach: number, work: () => unknown): Figure {
  return { name, value: costUs(work), unit: 'µs', reach, bound: 'most' }
}

const frame = JSON.stringify({
  id: 'chatcmpl-abcdefghijklmnopqrstuvwx',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: 'text-basic',
  choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }],
})

export const run: Benchmark = () => {
  const fingerprintOf = createFingerprintOf('a secret of the benchmark')
  const bodies = [
    [300, 0.9],
    [2_000, 2.2],
    [8_192, 9.3],
    [64 * 1024, 9.3],
  ] as const
  const { rewrite } = createIdRewriter('id', 'chatcmpl-01JD0000000000000000000002')
  const parsed = JSON.parse(frame) as Record<string, unknown>
  return Promise.resolve([
    ...bodies.map(([sizeBytes, reach]) => {
      const body = Buffer.alloc(sizeBytes, 'x')
      const name = `fingerprint of a body of ${sizeBytes} bytes`
      return figureOf(name, reach, () => fingerprintOf('tenant_1', body))
    }),
    figureOf('id of a frame, rewritten', 0.14, () => rewrite(frame, parsed)),
  ])
}
