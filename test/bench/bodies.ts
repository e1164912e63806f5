import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Benchmark, Figure } from './figure.ts'
import { tell, withClosers } from './kit/closers.ts'
import { TEXT_MODEL } from './kit/gateway.ts'
import { residentMib, watchMemory } from './kit/process.ts'
import { sized } from './kit/sizes.ts'
import { startTollgate, startUpstream, tryOut } from './kit/text-rows.ts'

/**
 * Bodies of 64 MiB, the most a chat may have: one alone, then eight at once, twice. What matters is
 * that memory is bounded and that whoever is refused is told so; the figures show both.
 */

const BYTES = sized(64, 4) * 1024 * 1024
const AT_ONCE = 8
const TIMEOUT_MS = 300_000
/** Memory is looked at again after this: what was taken for bodies should be given back. */
const REST_MS = sized(20_000, 1_000)

/** A chat with one inline image that fills the body up to the limit. */
function largeBody(): Buffer {
  const [before = '', after = ''] = JSON.stringify({
    model: TEXT_MODEL,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,@' } },
        ],
      },
    ],
    max_tokens: 16,
  }).split('@')
  const body = Buffer.alloc(BYTES, 'A')
  body.write(before, 0)
  body.write(after, BYTES - after.length)
  return body
}

interface Sender {
  /** Sends one body; says what became of it. */
  readonly one: () => Promise<string>
  readonly close: () => Promise<void>
}

function senderOf(url: URL, headers: Readonly<Record<string, string>>, body: Buffer): Sender {
  const pool = new Pool(url.origin, {
    connections: AT_ONCE,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  })
  const one = async (): Promise<string> => {
    try {
      const answer = await pool.request({ method: 'POST', path: url.pathname, headers, body })
      const text = await answer.body.text()
      const code = /"code":"([^"]+)"/.exec(text)?.[1]
      return answer.statusCode === 200 ? '200' : `${answer.statusCode} ${code ?? ''}`.trim()
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : String(error)
    }
  }
  return { one, close: () => pool.close() }
}

function counted(outcomes: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return [...counts].map(([outcome, count]) => `${count} × ${outcome}`).join(', ')
}

export const run: Benchmark = () =>
  withClosers(async (closers) => {
    const upstream = await startUpstream(closers)
    const { row } = await startTollgate(closers, upstream.url)
    await tryOut(row)
    const idleMib = await residentMib(row.pid)
    const sender = senderOf(new URL(row.url), row.headers, largeBody())
    closers.later(sender.close)
    const mib = BYTES / 1024 / 1024
    const figures: Figure[] = [
      { name: 'memory of the gateway before large bodies', value: idleMib, unit: 'MiB' },
    ]
    for (const [name, times] of [
      ['one', 1],
      [`${AT_ONCE} at once`, AT_ONCE],
      [`${AT_ONCE} at once, again`, AT_ONCE],
    ] as const) {
      const memory = watchMemory(row.pid)
      const startedMs = performance.now()
      const outcomes = await Promise.all(Array.from({ length: times }, sender.one))
      const seconds = (performance.now() - startedMs) / 1_000
      const { peakMib } = await memory.end()
      tell(`bodies: ${name}, ${counted(outcomes)}, ${peakMib.toFixed(0)} MiB`)
      figures.push({
        name: `bodies of ${mib} MiB, ${name}, peak memory of the gateway`,
        value: peakMib,
        unit: 'MiB',
        note: `${counted(outcomes)}; ${seconds.toFixed(1)} s`,
      })
    }
    await sleep(REST_MS)
    await tryOut(row)
    return [
      ...figures,
      {
        name: `memory of the gateway ${REST_MS / 1_000} s after large bodies`,
        value: await residentMib(row.pid),
        unit: 'MiB',
      },
    ]
  })
