import { percentile, type Benchmark, type Figure } from './figure.ts'
import { compiled } from './kit/build.ts'
import { tell, withClosers } from './kit/closers.ts'
import { runForJson, watchMemory } from './kit/process.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import {
  chatBody,
  startPassThrough,
  startTollgate,
  startUpstream,
  tryOut,
  type Row,
} from './kit/text-rows.ts'
import type { StreamOrder, StreamResult } from './peers/stream-client.ts'

/**
 * 1,000 streams at once of 200 frames each, through the bare pass-through and through Tollgate, in
 * turns. Every frame carries the moment the upstream wrote it; its delay is the time until the caller
 * read it. A frame every 200 ms a stream is 5,000 frames a second, which two cores carry with
 * upstream, gateway, event store and caller on them; `BENCH_FRAME_MS` tries other paces.
 */

const STREAMS = sized(1_000, 20)
const FRAMES = sized(200, 20)
const FRAME_MS = sizeFrom('BENCH_FRAME_MS', sized(200, 50))
const ROUNDS = sized(2, 1)
const PERCENTILES = [50, 99, 99.9]

interface Measured {
  readonly micros: number[]
  whole: number
  readonly faults: Set<string>
  peakMib: number
}

async function measure(row: Row, into: Measured): Promise<void> {
  const order: StreamOrder = {
    url: row.url,
    headers: row.headers,
    body: chatBody(true),
    streams: STREAMS,
    // Connections are made over a while, and frames of streams do not come in step.
    rampMs: Math.max(2_000, 10 * FRAME_MS),
  }
  const memory = watchMemory(row.pid)
  const result = (await runForJson(
    [compiled('test/bench/peers/stream-client')],
    JSON.stringify(order),
  )) as StreamResult
  const { peakMib } = await memory.end()
  for (const time of result.micros) into.micros.push(time)
  into.whole += result.whole
  for (const [reason, count] of Object.entries(result.faults))
    into.faults.add(`${count} × ${reason}`)
  into.peakMib = Math.max(into.peakMib, peakMib)
  tell(`streams: ${row.name}, p99 ${(percentile(result.micros, 99) / 1_000).toFixed(1)} ms`)
}

function figuresOf(row: Row, { micros, whole, faults, peakMib }: Measured): readonly Figure[] {
  const of = `${STREAMS} streams of ${FRAMES} frames, one each ${FRAME_MS} ms, ${row.name}`
  const wanted = STREAMS * ROUNDS
  return [
    ...PERCENTILES.map((p) => ({
      name: `${of}, frame delay p${p}`,
      value: percentile(micros, p) / 1_000,
      unit: 'ms',
    })),
    {
      name: `${of}, whole streams`,
      value: (whole / wanted) * 100,
      unit: '%',
      reach: 100,
      note: [`${whole} of ${wanted}, ${micros.length} frames`, ...[...faults].slice(0, 3)].join(
        '; ',
      ),
    },
    {
      name: `${of}, peak memory`,
      value: peakMib,
      unit: 'MiB',
      ...(row.name.startsWith('Tollgate') ? { reach: 250, bound: 'most' as const } : {}),
    },
  ]
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers, FRAMES, FRAME_MS)
    const bare = await startPassThrough(closers, upstream.url)
    const { row: durable, gateway } = await startTollgate(closers, upstream.url)
    const rows = [upstream.row, bare, durable]
    for (const row of rows) await tryOut(row)
    const measured = new Map<Row, Measured>()
    const of = (row: Row): Measured => {
      const known = measured.get(row) ?? { micros: [], whole: 0, faults: new Set(), peakMib: 0 }
      measured.set(row, known)
      return known
    }
    for (let round = 0; round < ROUNDS; round += 1)
      for (const row of rows) {
        await gateway.settled()
        await measure(row, of(row))
      }
    const p99 = (row: Row): number => percentile(of(row).micros, 99) / 1_000
    return [
      ...rows.flatMap((row) => figuresOf(row, of(row))),
      {
        name: `${STREAMS} streams, frame delay p99 over the bare pass-through`,
        value: p99(durable) - p99(bare),
        unit: 'ms',
        reach: 20,
        bound: 'most',
      },
    ]
  })
