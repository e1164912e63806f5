import * as fc from 'fast-check'
import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'
import { answerBy, gateway, listen, readAll } from './support/scripted-upstream.ts'

/** Streams of messages that end, fail or are left after each of their frames. */

await listen(t)

const TEXT = 'Good morning to you and to all of yours.'
const eventOf = (type: string, members: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const delta = { index: 0, delta: { type: 'text_delta', text: TEXT } }
const message = {
  id: 'msg_theirs',
  type: 'message',
  content: [],
  usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 },
}
const frames = [
  eventOf('message_start', { message }),
  eventOf('ping', {}),
  eventOf('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  eventOf('content_block_delta', delta),
  eventOf('content_block_stop', { index: 0 }),
  eventOf('message_delta', {
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: 10 },
  }),
  eventOf('ping', {}),
  eventOf('message_stop', {}),
]
/** With so many frames the result is whole. */
const WHOLE = 6
const END = '"stop_reason":"'
/** The usage that the whole result is billed for. */
const billed = { input: 5, 'cached-input': 3, output: 10 }

type Gateway = ReturnType<typeof gateway>

async function ended({ events, running }: Gateway) {
  await until(() => running.inFlight() === 0 && events.length > 0)
  const [event, ...more] = events
  if (event === undefined || more.length > 0) throw new Error('it is not written down once')
  return event
}

/** Makes a call of these frames and reads what comes of it. */
async function read(given: readonly string[], isCut: boolean) {
  const made = gateway(t, 'messages')
  answerBy(async (send, response) => {
    for (const frame of given) await send(frame)
    if (isCut) setTimeout(() => response.destroy(), 5)
    else response.end()
  })
  const heard = await made
    .stream()
    .then(({ frames: all }) => readAll(all))
    .catch((error: unknown) => ({ seen: 0, last: '', error }))
  return { heard, event: await ended(made) }
}

t.test('a stream that ends after a frame is whole from its stop reason on, or free', async (t) => {
  for (let count = 0; count <= frames.length; count += 1)
    for (const isCut of [false, true]) {
      const what = `${count} frames, ${isCut ? 'cut' : 'ended'}`
      const { heard, event } = await read(frames.slice(0, count), isCut)
      if (count >= WHOLE) {
        t.equal(heard.error, undefined, what)
        t.ok(heard.last.includes(END), what)
        t.match(event, { type: 'CallSettled', data: { usage: billed } }, what)
      } else {
        t.match(heard.error, { code: 'upstream_unavailable' }, what)
        t.notOk(heard.last.includes(END), what)
        t.equal(event.type, 'CallFailed', what)
      }
    }
})

t.test('an end without a stop reason, and an error between frames, are failures', async (t) => {
  const [stop = ''] = frames.slice(-1)
  const error = eventOf('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
  for (let at = 1; at < WHOLE; at += 1) {
    const faults = [
      ['message_stop', [...frames.slice(0, at), stop]],
      ['error', frames.toSpliced(at, 0, error)],
    ] as const
    for (const [name, given] of faults) {
      const { heard, event } = await read(given, false)
      t.type(heard.error, Error, `${name} after ${at} frames`)
      t.notOk(heard.last.includes(END), `${name} after ${at} frames`)
      t.equal(event.type, 'CallFailed', `${name} after ${at} frames`)
    }
  }
  const made = gateway(t, 'messages')
  answerBy((send) => send(error))
  await t.rejects(made.stream(), { code: 'upstream_overloaded' }, 'in place of the first frame')
  t.same(made.events, [])
})

t.test('a caller who leaves after a frame pays for the whole, or for nothing', async (t) => {
  for (let seen = 0; seen < WHOLE; seen += 1)
    for (const isWhole of [true, false]) {
      const made = gateway(t, 'messages')
      let leave = (): void => undefined
      const left = new Promise<void>((resolve) => (leave = resolve))
      answerBy(async (send, response) => {
        for (const frame of frames.slice(0, Math.max(seen, 1))) await send(frame)
        await left
        for (const frame of isWhole ? frames.slice(Math.max(seen, 1)) : []) await send(frame)
        response.end()
      })
      const { frames: heard } = await made.stream()
      const iterator = heard[Symbol.asyncIterator]()
      for (let taken = 0; taken < seen; taken += 1) await iterator.next()
      made.gone.abort()
      leave()
      const event = await ended(made)
      const what = `after ${seen} frames, ${isWhole ? 'whole' : 'ended'}`
      if (isWhole)
        t.match(
          event,
          { type: 'CallSettled', data: { usage: billed, outcome: 'disconnected' } },
          what,
        )
      else t.equal(event.type, 'CallFailed', what)
    }
})

/** The settlement of an answer with this usage, whole or streamed in these parts. */
async function settled(reports: readonly object[], isWhole: boolean) {
  const made = gateway(t, 'messages')
  const content = [{ type: 'text', text: TEXT }]
  const whole = { ...message, content, stop_reason: 'end_turn', usage: reports[0] }
  const [first, ...others] = reports
  const streamed = [
    eventOf('message_start', { message: { ...message, usage: first } }),
    eventOf('content_block_delta', delta),
    ...others.map((usage) => eventOf('message_delta', { delta: {}, usage })),
    eventOf('message_delta', { delta: { stop_reason: 'end_turn' } }),
    eventOf('message_stop', {}),
  ]
  answerBy(
    async (send, response) => {
      await send(isWhole ? JSON.stringify(whole) : streamed.join(''))
      response.end()
    },
    { type: isWhole ? 'application/json' : 'text/event-stream' },
  )
  if (isWhole) await made.whole()
  else await readAll((await made.stream()).frames)
  const event = await ended(made)
  if (event.type !== 'CallSettled') throw new Error('it is not settled')
  const { usage, settlement } = event.data
  const lines = settlement.lines.map(({ sku, quantity, measurement, amount }) => [
    sku,
    quantity,
    measurement,
    amount,
  ])
  return { usage, lines, reported: event.data.reported }
}

t.test(
  'figures that are no counts, or more than can be, are estimated on their side',
  async (t) => {
    const odd = [-1, 1.5, 2 ** 53, 'many', 9_000_000_000]
    for (const isWhole of [false, true])
      for (const figure of odd) {
        const what = `${JSON.stringify(figure)}, ${isWhole ? 'whole' : 'streamed'}`
        const output = await settled([{ input_tokens: 5, output_tokens: figure }], isWhole)
        t.match(output.reported, { input_tokens: 5 }, `${what}: what was reported is kept`)
        t.match(output.usage, { input: 5, output: 10 }, what)
        t.same(
          output.lines.map(([, , measurement]) => measurement),
          ['reported', 'estimated'],
          what,
        )
        const input = await settled([{ input_tokens: figure, output_tokens: 9 }], isWhole)
        t.match(input.reported, { output_tokens: 9 }, `${what}: what was reported is kept`)
        t.match(input.usage, { input: 3, output: 9 }, what)
        t.same(
          input.lines.map(([, , measurement]) => measurement),
          ['estimated', 'reported'],
          what,
        )
      }
  },
)

t.test('figures in any order of frames settle as those of a whole answer', async (t) => {
  const figures = {
    input_tokens: 100,
    cache_creation_input_tokens: 12,
    cache_read_input_tokens: 40,
    cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 5 },
    output_tokens: 11,
  }
  const names = Object.keys(figures) as (keyof typeof figures)[]
  const part = fc.subarray(names).map((own) => Object.fromEntries(own.map((n) => [n, figures[n]])))
  const zero = fc.constantFrom({ input_tokens: 0 }, { cache_read_input_tokens: 0 }, {})
  const whole = await settled([figures], true)
  t.equal(whole.lines.length, 5)
  const parts = fc.array(fc.oneof(part, zero), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(parts, fc.nat(6), async (others, at) => {
      const { usage, lines } = await settled(others.toSpliced(at, 0, figures), false)
      return JSON.stringify([usage, lines]) === JSON.stringify([whole.usage, whole.lines])
    }),
    { numRuns: propertyRuns(48) },
  )
  t.pass()
})
