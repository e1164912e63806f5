import t from 'tap'
import { until } from '../../helpers/eventually.ts'
import { sandboxTextChannels, withTextSettings } from '../../helpers/sandbox-channels.ts'
import type { TextFamily } from '../../families/text/wires.ts'
import type { CallEventData } from '../../../src/domain/call/events.ts'
import { startTextWorld, textInput, unitsOf } from './support/text-world.ts'

const world = await startTextWorld(t)
const families = ['chat', 'responses', 'native', 'messages'] as const
let marks = 0

async function settledOf(callId: string): Promise<CallEventData<'CallSettled'> | undefined> {
  const [first, ...more] = (await world.callEvents()).filter(({ data }) => data.callId === callId)
  return more.length === 0 && first?.type === 'CallSettled' ? first.data : undefined
}

/** How a caller leaves. */
type Leaving = 'abort' | 'return' | 'both' | 'abort-while-waiting'

async function leave(
  calls: Awaited<ReturnType<typeof world.text>>['calls'],
  wish: { family: TextFamily; prompt: string; after: number; how: Leaving },
) {
  const marker = `left-${(marks += 1)}`
  const gone = new AbortController()
  const { callId, frames } = await calls.stream(
    textInput({
      family: wish.family,
      prompt: `${wish.prompt} [[client=${marker}]]`,
      callerGone: gone.signal,
    }),
  )
  const iterator = frames[Symbol.asyncIterator]()
  for (let taken = 0; taken < wish.after; taken += 1) await iterator.next()
  if (wish.how === 'abort-while-waiting') {
    const waiting = iterator.next()
    gone.abort()
    await waiting
  }
  if (wish.how === 'abort' || wish.how === 'both') gone.abort()
  if (wish.how === 'return' || wish.how === 'both') await iterator.return?.()
  t.same(await iterator.next(), { done: true, value: undefined })
  await until(() => calls.inFlight() === 0)
  const [accepted] = await world.accepted(marker)
  if (accepted === undefined) throw new Error('not accepted')
  return { callId, accepted }
}

t.test(
  'usage is settled exactly once, at whatever moment and by whichever way a caller leaves',
  async (t) => {
    const { calls } = await world.text()
    for (const family of families)
      for (const how of ['abort', 'return', 'both', 'abort-while-waiting'] as const)
        for (const after of [0, 1, 11]) {
          const prompt = '[[sandbox words=30 frame-ms=1]]'
          const { callId, accepted } = await leave(calls, { family, prompt, after, how })
          const settled = await settledOf(callId)
          const said = `${family}, ${how} after ${after}`
          t.equal(settled?.outcome, 'disconnected', said)
          if (how !== 'abort-while-waiting')
            t.equal(settled?.firstByteMs === undefined, after === 0, `${said}: a first byte`)
          t.same(settled?.usage, unitsOf(accepted), said)
        }
  },
)

t.test('a caller who left pays the seen part when upstream exceeds the drain time', async (t) => {
  const channels = sandboxTextChannels({ baseUrl: world.sandbox.url }).map((channel) =>
    withTextSettings(channel, { drainTimeoutMs: 200 }),
  )
  const { calls } = await world.text({ channels })
  for (const family of families) {
    const prompt = '[[sandbox words=40 stall-after=12]]'
    const { callId, accepted } = await leave(calls, { family, prompt, after: 2, how: 'abort' })
    const settled = await settledOf(callId)
    t.equal(settled?.outcome, 'disconnected', family)
    t.ok(
      settled?.settlement.lines.every((line) => line.measurement === 'estimated'),
      family,
    )
    t.ok(Number(settled?.usage['output']) < accepted.usage.output_tokens, family)
  }
})

t.test('a caller who left is not followed further than the bound in bytes', async (t) => {
  const channels = sandboxTextChannels({ baseUrl: world.sandbox.url }).map((channel) =>
    withTextSettings(channel, { drainMaxBytes: 1_000 }),
  )
  const { calls } = await world.text({ channels })
  const prompt = '[[sandbox words=5000]]'
  const { callId } = await leave(calls, { family: 'chat', prompt, after: 1, how: 'return' })
  const settled = await settledOf(callId)
  t.equal(settled?.outcome, 'disconnected')
  t.equal(settled?.settlement.lines[0]?.measurement, 'estimated')
})

t.test('a caller who reads no frame for too long counts as disconnected', async (t) => {
  const { calls } = await world.text({ limits: { consumerStallMs: 10 } })
  const { callId, frames } = await calls.stream(textInput({ prompt: '[[sandbox words=30]]' }))
  await frames[Symbol.asyncIterator]().next()
  await until(() => calls.inFlight() === 0)
  t.equal((await settledOf(callId))?.outcome, 'disconnected')
})

/** Looks at upstream in a row, of many turns of the event loop each, after which it counts as held back. */
const LOOKS_WITHOUT_A_BYTE = 20

t.test('upstream is held back while the caller reads no frame', async (t) => {
  const [chat] = sandboxTextChannels({ baseUrl: world.sandbox.url })
  if (chat === undefined) throw new Error('no chat channel')
  const largestOutputTokens = { 'text-basic': 100_000 }
  const { calls } = await world.text({
    channels: [withTextSettings(chat, { largestOutputTokens })],
  })
  const prompt = '[[sandbox words=60000]] [[client=slow]]'
  const { frames } = await calls.stream(textInput({ prompt }))
  const iterator = frames[Symbol.asyncIterator]()
  await iterator.next()
  // Upstream is in this process, and writes in every turn of the event loop in which it may.
  let written = -1
  for (let unchanged = 0; unchanged < LOOKS_WITHOUT_A_BYTE;) {
    const [accepted] = await world.accepted('slow')
    unchanged = accepted?.bytes_written === written ? unchanged + 1 : 0
    written = accepted?.bytes_written ?? -1
  }
  const [accepted] = await world.accepted('slow')
  t.equal(accepted?.finished, false)
  t.ok(written > 0 && written < 6_000_000, `${written} bytes were written`)
  await iterator.return?.()
  await until(() => calls.inFlight() === 0)
})

for (const reads of [true, false])
  t.test(
    `the end of a shutdown ends a stream and bills the delivered part (${reads ? 'its caller reads' : 'its caller takes no frame'})`,
    async (t) => {
      const { calls } = await world.text()
      const markers = families.map((family) => `stopped-${family}-${reads}`)
      const opened = await Promise.all(
        families.map((family, index) => {
          const prompt = `[[sandbox words=40 stall-after=12]] [[client=${markers[index]}]]`
          return calls.stream(textInput({ family, prompt }))
        }),
      )
      const iterators = opened.map(({ frames }) => frames[Symbol.asyncIterator]())
      const readAll = async (iterator: AsyncIterator<unknown>): Promise<number> => {
        for (let frames = 1; ; frames += 1) {
          const next = await iterator.next().catch((error: unknown) => error)
          if (next instanceof Error) {
            t.match(next, { code: 'upstream_unavailable', message: /is charged/ })
            return frames
          }
        }
      }
      for (const iterator of iterators) await iterator.next()
      const reading = reads ? iterators.map(readAll) : []
      await until(async () => {
        const views = await Promise.all(markers.map((marker) => world.accepted(marker)))
        return views.every(([view]) => Number(view?.frames_written) >= 12)
      })
      const refused = calls.close(200)
      await t.rejects(calls.complete(textInput()), { code: 'overloaded' })
      t.equal(await refused, true)
      await Promise.all(reading)
      for (const { callId } of opened) {
        const settled = await settledOf(callId)
        t.match(settled, { outcome: 'disconnected', endedBy: 'stop' })
        t.ok(settled?.settlement.lines.every(({ measurement }) => measurement === 'estimated'))
      }
      if (reads) return
      const left = await Promise.all(iterators.map(readAll))
      t.ok(
        left.every((frames) => frames > 3),
        'what had arrived is delivered',
      )
    },
  )
