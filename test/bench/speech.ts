import { type Benchmark, type Figure, percentile } from './figure.ts'
import { median, tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total } from './kit/cpu.ts'
import { SPEECH_MODEL } from './kit/gateway.ts'
import { paced } from './kit/paced.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import {
  type Row,
  startPassThrough,
  startTollgate,
  startUpstream,
  tryOut,
} from './kit/text-rows.ts'

/**
 * Speech that a static upstream answers at once with 200 kB, 100 calls a second: the time a durable call
 * takes beyond the bare pass-through.
 */

const PER_SECOND = sizeFrom('BENCH_PER_SECOND', sized(100, 20))
const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const PACE = {
  perSecond: PER_SECOND,
  seconds: sized(15, 2),
  warmUpSeconds: sized(5, 1),
  connections: 32,
}

const BODY = JSON.stringify({
  model: SPEECH_MODEL,
  text: 'A boat of paper leaves the quay. '.repeat(3),
  voice_id: 'male-qn-qingse',
})

function asksForSpeech(row: Row, path: string): Row {
  return { ...row, url: new URL(path, row.url).href, body: BODY }
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const bare = asksForSpeech(await startPassThrough(closers, upstream.url), '/v1/t2a_v2')
    const tollgate = await startTollgate(closers, upstream.url)
    await tryOut(tollgate.row)
    const durable = asksForSpeech(tollgate.row, '/provB/v1/t2a_v2')
    const rows = [bare, durable]
    const micros = new Map<Row, number[]>(rows.map((row) => [row, []]))
    const cpu = new Map<Row, number[]>(rows.map((row) => [row, []]))
    let failed = 0
    for (let round = 0; round < ROUNDS; round += 1)
      for (const row of rows) {
        await tollgate.gateway.settled()
        const before = await cpuMs(row.pid)
        const result = await paced(row, PACE)
        await tollgate.gateway.settled()
        const parts = between(before, await cpuMs(row.pid))
        const spentMs = total(parts)
        cpu.get(row)?.push(spentMs / (PER_SECOND * (PACE.warmUpSeconds + PACE.seconds)))
        micros.get(row)?.push(...result.micros)
        const { '200': _answered, ...others } = result.statuses
        failed += Object.values(others).reduce((sum, count) => sum + count, 0)
        const spent = Object.entries(parts).map(([part, ms]) => `${part} ${ms.toFixed(0)} ms`)
        tell(`speech, ${PER_SECOND}/s, round ${round}: ${row.name}, ${spent.join(', ')}`)
      }
    const timeOf = (row: Row, p: number): number => percentile(micros.get(row) ?? [], p) / 1_000
    const cpuOf = (row: Row): number => median(cpu.get(row) ?? [])
    const note = failed > 0 ? `${failed} FAILED` : ''
    return [50, 99].flatMap((p): readonly Figure[] => [
      {
        name: `speech of 200 kB at ${PER_SECOND}/s, ${bare.name}, p${p}`,
        value: timeOf(bare, p),
        unit: 'ms',
        cpuMs: cpuOf(bare),
      },
      {
        name: `speech of 200 kB at ${PER_SECOND}/s, added by ${durable.name}, p${p}`,
        value: timeOf(durable, p) - timeOf(bare, p),
        unit: 'ms',
        cpuMs: cpuOf(durable),
        cpuOverBare: cpuOf(durable) / cpuOf(bare),
        ...(p === 50 ? { reach: 3, bound: 'most' } : {}),
        note,
      },
    ])
  })
