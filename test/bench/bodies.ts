import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import type { Benchmark, Figure } from './figure.ts'
import { type Closers, tell, withClosers } from './kit/closers.ts'
import { TEXT_MODEL, VIDEO_MODEL } from './kit/gateway.ts'
import { residentMib, watchMemory } from './kit/process.ts'
import { sized } from './kit/sizes.ts'
import { startTollgate, startUpstream, tryOut } from './kit/text-rows.ts'

/**
 * Bodies of 64 MiB, the most a request may have: a chat with an inline image, then a `/provB` video made
 * after an inline one. Of each one alone, then eight at once, twice. What matters is that memory is
 * bounded and that whoever is refused is told so; the figures show both.
 */

const BYTES = sized(64, 4) * 1024 * 1024
const AT_ONCE = 8
const TIMEOUT_MS = 300_000
/** Memory is looked at again after this: what was taken for bodies should be given back. */
const REST_MS = sized(20_000, 1_000)

interface Subject {
  readonly name: string
  readonly path: string
  /** `@` stands for base64. */
  readonly body: object
}

const subjects: readonly Subject[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    body: {
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
    },
  },
  {
    name: 'video',
    path: '/provB/v2/video_generation',
    body: {
      model: VIDEO_MODEL,
      content: [
        { type: 'text', text: 'The same at night' },
        {
          type: 'video_url',
          role: 'reference_video',
          video_url: { url: 'data:video/mp4;base64,@' },
        },
      ],
      duration: 4,
    },
  },
]

/** A body filled up to the limit. */
function largeBody({ body: given }: Subject): Buffer {
  const [before = '', after = ''] = JSON.stringify(given).split('@')
  const body = Buffer.alloc(BYTES - ((BYTES - before.length - after.length) % 4), 'A')
  body.write(before, 0)
  body.write(after, body.length - after.length)
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
      const code = /"(?:code|http_code)":"([^"]+)"/.exec(text)?.[1]
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

async function measure(subject: Subject, closers: Closers): Promise<readonly Figure[]> {
  const upstream = await startUpstream(closers)
  const { row } = await startTollgate(closers, upstream.url)
  await tryOut(row)
  const idleMib = await residentMib(row.pid)
  const url = new URL(subject.path, row.url)
  const sender = senderOf(url, row.headers, largeBody(subject))
  closers.later(sender.close)
  const mib = BYTES / 1024 / 1024
  const figures: Figure[] = [
    {
      name: `${subject.name}: memory of the gateway before large bodies`,
      value: idleMib,
      unit: 'MiB',
    },
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
    const copies = (peakMib - idleMib) / (mib * times)
    tell(`${subject.name}: ${name}, ${counted(outcomes)}, ${peakMib.toFixed(0)} MiB`)
    figures.push({
      name: `${subject.name}: bodies of ${mib} MiB, ${name}, peak memory of the gateway`,
      value: peakMib,
      unit: 'MiB',
      note: `${counted(outcomes)}; ${seconds.toFixed(1)} s; ${copies.toFixed(2)} × the bodies`,
    })
  }
  await sleep(REST_MS)
  await tryOut(row)
  return [
    ...figures,
    {
      name: `${subject.name}: memory of the gateway ${REST_MS / 1_000} s after large bodies`,
      value: await residentMib(row.pid),
      unit: 'MiB',
    },
  ]
}

export const run: Benchmark = async () => {
  const figures: Figure[] = []
  for (const subject of subjects)
    figures.push(...(await withClosers((closers) => measure(subject, closers))))
  return figures
}
