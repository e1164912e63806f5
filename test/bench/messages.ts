import { Buffer } from 'node:buffer'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAX_KEPT_TEXT_VALUES } from '../../src/api/kit/bodies/json-bounds.ts'
import { messagesWire } from '../../src/families/messages/upstream/wire.ts'
import { load } from './chat-load.ts'
import type { Benchmark, Figure } from './figure.ts'
import { type Closers, median, tell, withClosers } from './kit/closers.ts'
import { between, cpuMs, total } from './kit/cpu.ts'
import { type BenchGateway, TEXT_MODEL } from './kit/gateway.ts'
import { createProbe, type Probe } from './kit/probe.ts'
import { sized, sizeFrom } from './kit/sizes.ts'
import { type Row, startTollgate, startUpstream, tryOut } from './kit/text-rows.ts'

/**
 * Calls of messages: what one costs against a chat call of the same run and size, how many frames of a stream
 * are read, and how long the largest body holds the event loop of the gateway.
 */

const ROUNDS = sizeFrom('BENCH_ROUNDS', sized(5, 1))
const CONNECTIONS = 8

/** A conversation of about so many bytes of text. */
function conversation(bytes: number): readonly object[] {
  const text = 'A boat of paper leaves the quay. '.repeat(150)
  const turns = Math.max(1, Math.ceil(bytes / text.length / 2) * 2 - 1)
  return Array.from({ length: turns }, (_none, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: bytes < text.length ? text.slice(0, bytes) : text,
  }))
}

interface Size {
  readonly name: string
  readonly bytes: number
  readonly calls: number
}

const sizes: readonly Size[] = [
  { name: '0.2 kB', bytes: 200, calls: sized(4_000, 60) },
  { name: '2 MB', bytes: 2_000_000, calls: sized(120, 16) },
]

/** Processor time a call of a row, the read models included. */
async function costOf(row: Row, gateway: BenchGateway, amount: number): Promise<number> {
  const before = await cpuMs(row.pid)
  const { answered, failed } = await load(row, CONNECTIONS, { amount })
  await gateway.settled()
  if (failed > 0) throw new Error(`${failed} calls of ${row.name} failed`)
  return total(between(before, await cpuMs(row.pid))) / answered
}

async function againstChat(
  durable: Row,
  gateway: BenchGateway,
  { name, bytes, calls }: Size,
): Promise<readonly Figure[]> {
  const body = { model: TEXT_MODEL, max_tokens: 64, messages: conversation(bytes) }
  const chat = { ...durable, name: 'chat', body: JSON.stringify(body) }
  const url = new URL('/v1/messages', durable.url).href
  const messages = { ...chat, name: 'messages', url }
  const costs = new Map<Row, number[]>([
    [chat, []],
    [messages, []],
  ])
  for (let round = -1; round < ROUNDS; round += 1)
    for (const [row, measured] of costs) {
      const cost = await costOf(row, gateway, calls)
      tell(`messages, ${name}, round ${round}: ${row.name} ${cost.toFixed(3)} ms`)
      // The first round compiles the code.
      if (round >= 0) measured.push(cost)
    }
  const [ofChat, ofMessages] = [median(costs.get(chat) ?? []), median(costs.get(messages) ?? [])]
  return [
    { name: `a chat call of ${name}`, value: ofChat, unit: 'ms CPU a call' },
    {
      name: `a call of messages of ${name}, over a chat call`,
      value: ofMessages / ofChat,
      unit: '×',
      reach: 1.05,
      bound: 'most',
      cpuMs: ofMessages,
    },
  ]
}

const FRAMES = sized(1_000_000, 2_000)

/** Frames of a long answer, read one after the other. */
function framesRead(): Figure {
  const request = {
    model: 'ours',
    upstreamModel: 'theirs',
    callId: 'call_01JD0000000000000000000002',
    body: {},
    largest: { outputTokens: FRAMES, bytesOfLogprobs: 0, hasMedia: false },
    keptId: () => '',
  }
  const delta = { index: 0, delta: { type: 'text_delta', text: ' paper' } }
  const event = 'content_block_delta'
  const data = JSON.stringify({ type: event, ...delta })
  const rounds = Array.from({ length: ROUNDS }, () => {
    const reader = messagesWire.frameReader(request, (text) => text)
    const begun = process.cpuUsage()
    for (let at = 0; at < FRAMES; at += 1) reader.read({ event, data })
    const { user, system } = process.cpuUsage(begun)
    return FRAMES / ((user + system) / 1_000)
  })
  return {
    name: 'frames of a stream read',
    value: Math.max(...rounds),
    unit: 'a ms',
    reach: 1_000,
  }
}

const VALUES = sizeFrom('BENCH_VALUES', sized(MAX_KEPT_TEXT_VALUES, 2_000)) - 20
const list = (count: number, one: (at: number) => unknown) =>
  Array.from({ length: count }, (_none, at) => one(at))
const user = (content: unknown) => ({ role: 'user', content })

/** Bodies with as many values as one may have. */
const largest: Readonly<Record<string, readonly object[]>> = {
  messages: list(Math.floor(VALUES / 3), () => user('x')).map((one) => Object(one) as object),
  blocks: [user(list(VALUES, () => ({})))],
  'nested lists': [user([{ type: 'x', nested: list(VALUES / 2, () => [[]]) }])],
}

/** Within this time the gateway sends a statement: a probe that sees none is refused. */
const STATEMENT_MS = 5_000

/** The machine's monotonic clock, as the probe reads it. */
const nowUs = (): number => Number(process.hrtime.bigint()) / 1_000

/** The longest time between two looks at the event loop, without what it waited for a processor. */
async function pauseOf(
  durable: Row,
  probe: Probe,
  [name, messages]: readonly [string, readonly object[]],
): Promise<Figure> {
  const url = new URL('/v1/messages', durable.url)
  const body = Buffer.from(JSON.stringify({ model: TEXT_MODEL, max_tokens: 64, messages }))
  const ask = async (): Promise<void> => {
    const answer = await fetch(url, { method: 'POST', headers: durable.headers, body })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${answer.status}: ${text.slice(0, 300)}`)
  }
  for (let times = 0; times < 3; times += 1) await ask()
  const longest = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const { result, probed } = await probe.during(durable.pid, async () => {
      const beganUs = nowUs()
      await ask()
      const endedUs = nowUs()
      await sleep(STATEMENT_MS)
      return { beganUs, endedUs }
    })
    const pauses = probed.looks.slice(1).flatMap((look, at) => {
      const { atUs = 0, ownQueuedUs = 0 } = probed.looks[at] ?? {}
      if (look.atUs < result.beganUs || atUs > result.endedUs) return []
      return [(look.atUs - atUs - (look.ownQueuedUs - ownQueuedUs)) / 1_000]
    })
    longest.push(Math.max(...pauses))
  }
  return {
    name: `event loop held by a body of ${VALUES} values, ${name}`,
    value: median(longest),
    unit: 'ms',
    reach: 10,
    bound: 'most',
    note: `${(body.length / 1_000_000).toFixed(1)} MB; the longest of a call, collections included`,
  }
}

async function gatewayFigures(closers: Closers): Promise<readonly Figure[]> {
  const upstream = await startUpstream(closers)
  const probe = await createProbe(closers)
  const { row, gateway } = await startTollgate(closers, upstream.url, probe.env)
  await tryOut(row)
  const figures: Figure[] = []
  for (const size of sizes) figures.push(...(await againstChat(row, gateway, size)))
  for (const one of Object.entries(largest)) figures.push(await pauseOf(row, probe, one))
  return figures
}

export const run: Benchmark = async () => [framesRead(), ...(await withClosers(gatewayFigures))]
