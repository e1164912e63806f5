import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { MAX_JSON_VALUES } from '../../src/api/kit/bodies/json-bounds.ts'
import { monotonicClock } from '../../src/kernel/clock.ts'
import { isLong } from '../helpers/long-run.ts'
import { startApp } from './support/app.ts'

/**
 * One request never holds the event loop for long, whatever its body: others are served between the parts of its
 * work. The parts are counted, since they are the same on every machine: fewer of them are longer ones.
 */

const MIB = 1024 * 1024

const { app } = await startApp()
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => app.close())
const { port } = app.server.address() as AddressInfo

/** Sends a body; its status, and how often the work on it let others go first. */
async function send(t: Test, path: string, body: Buffer) {
  let turns = 0
  // `inTurns` reads the clock after each part of its work; here each part has used up its turn,
  // and little more: bounds of silence are measured by the same clock.
  const clock = t.capture(monotonicClock, 'nowMs', () => (turns += 1) * 10)
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: {
      authorization: 'Bearer sk-one',
      'x-goog-api-key': 'sk-one',
      'content-type': 'application/json',
    },
    body,
  })
  await response.arrayBuffer()
  clock.restore()
  return { status: String(response.status), turns }
}

const MANY = MAX_JSON_VALUES - 200
const list = (count: number, one: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => one(at)).join(',')
const members = (count: number): string => `{${list(count, (at) => `"m${at}":1`)}}`

/** The last member of a body, by what is large in it. */
const large = {
  free: () => `"metadata":${members(MANY)}`,
  objects: () => `"further":[${list(MANY / 2 - 1, (at) => `{"a${at}":1}`)}]`,
  media: () => `"further":"data:image/png;base64,${'A'.repeat(62 * MIB)}"`,
  escapes: () => `"further":"${'\\n'.repeat(7.9 * MIB)}"`,
  wide: () => `"further":"${'中'.repeat(5.2 * MIB)}"`,
  names: () => `"metadata":{${list(30_000, (at) => `"${'n'.repeat(500)}${at}":1`)}}`,
  members: () => `"further":${members(MANY)}`,
}
const part = '{"type":"text","text":"a"}'
const user = (content: string): string => `"messages":[{"role":"user","content":${content}}]`
const chat = {
  parts: () => user(`[${list(MANY / 3 - 5, () => part)}]`),
  image: () =>
    user(
      `[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(62 * MIB)}"}}]`,
    ),
  text: () => user(`"${'hello world '.repeat((15.9 * MIB) / 12)}"`),
}

const ofChat = { path: '/v1/chat/completions', base: '"model":"text-basic"' }
/** A body, and how often the work on it lets others go first, at the least. */
type Large = readonly [written: () => string, leastTurns: number]
const cases: readonly {
  readonly path: string
  readonly base: string
  readonly bodies: Readonly<Record<string, Large>>
  readonly status: string
}[] = [
  {
    ...ofChat,
    bodies: { parts: [chat.parts, 500], image: [chat.image, 2_000], text: [chat.text, 500] },
    status: '200',
  },
  {
    path: '/v1/responses',
    base: '"model":"text-basic","input":"x"',
    bodies: {
      free: [large.free, 560],
      media: [large.media, 2_000],
      escapes: [large.escapes, 500],
    },
    status: '200',
  },
  {
    path: '/v1beta/models/text-basic:generateContent',
    base: '"contents":[{"parts":[{"text":"x"}]}]',
    bodies: {
      free: [large.free, 560],
      names: [large.names, 350],
      objects: [large.objects, 470],
    },
    status: '200',
  },
  {
    path: '/provB/v1/t2a_v2',
    base: '"text":"x"',
    bodies: { members: [large.members, 16] },
    // The body has the code of the failure.
    status: '200',
  },
  // What these refuse, they refuse after they read it.
  ...[
    ['/v1/images/generations', { wide: [large.wide, 175], members: [large.members, 16] }] as const,
    ['/provB/v2/video_generation', { free: [large.free, 560], wide: [large.wide, 200] }] as const,
    ['/provB/v2/video_generation', { media: [large.media, 125] }] as const,
  ].map(([path, bodies]) => ({ path, base: '"prompt":"x"', bodies, status: '4' })),
]

/** What was large in the bodies so far: at length each is sent to every route that reads it. */
const sent = new Set<string>()

for (const { path, base, bodies, status } of cases)
  for (const [name, [written, leastTurns]] of Object.entries<Large>(bodies)) {
    if (sent.has(name) && !isLong) continue
    sent.add(name)
    void t.test(`${path}: ${name}`, async (t) => {
      const answer = await send(t, path, Buffer.from(`{${base},${written()}}`))
      t.ok(answer.status.startsWith(status), `status ${answer.status}`)
      t.ok(answer.turns >= leastTurns, `${answer.turns} turns`)
    })
  }
