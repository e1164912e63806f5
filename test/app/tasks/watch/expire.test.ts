import t, { type Test } from 'tap'
import { createPoller } from '../../../../src/app/tasks/watch/poll.ts'
import { createReconcileRound } from '../../../../src/app/tasks/watch/reconcile.ts'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import { readSpeech, withVoice } from '../../../../src/families/speech/rules/request.ts'
import { sandboxSpeechChannels } from '../../../helpers/sandbox-channels.ts'
import {
  createInput,
  channelsWaiting,
  startWorld,
  uncertain,
  uncertainOf,
} from '../../support/world.ts'

const HOUR_MS = 3_600_000
const settings = { owner: 'late', scale: 1 }

/** A world whose process is held for two days as soon as an upstream query is under way. */
async function heldAt(t: Test, op: string) {
  const world = await startWorld(t)
  let nowMs = Date.now()
  const held = world.replica({ clock: { nowMs: () => nowMs } })
  const ended = async (platformId: string): Promise<boolean> =>
    (await world.eventsOf(platformId)).some(({ type }) => type === 'TaskExpired')
  const hold = async (round: () => Promise<unknown>): Promise<void> => {
    const before = world.sandbox.requests().routes[`video-a.${op}`]?.count ?? 0
    const done = round()
    while ((world.sandbox.requests().routes[`video-a.${op}`]?.count ?? 0) === before)
      await new Promise((resolve) => setTimeout(resolve, 5))
    nowMs += 50 * HOUR_MS
    await done
  }
  return { world, deps: held.deps, ended, hold, pass: (ms: number) => (nowMs += ms) }
}

t.test('a task seen gone before its deadline is queried again after it', async (t) => {
  const { world, deps, ended, hold, pass } = await heldAt(t, 'get')
  const { platformId } = await world
    .replica()
    .tasks.createTask(createInput({ prompt: 'x [[sandbox gone-ms=0 queued-ms=0 running-ms=0]]' }))
  await world.settle()
  world.sandbox.faults.add({ faults: ['first-byte-ms=300'], match: { op: ['get', 'list'] } })
  const poller = createPoller(deps, createObserve(deps), settings)
  const ask = async (): Promise<void> => {
    await poller.round(new AbortController().signal)
    await poller.drain()
  }
  pass(10_000)
  await hold(ask)
  t.equal(await ended(platformId), false, 'what was seen says nothing of the deadline')
  // A minute, and the tenth by which polls are spread.
  pass(67_000)
  await ask()
  t.equal(await ended(platformId), true)
})

t.test('an uncertain submission absent before its deadline is searched again later', async (t) => {
  const { world, deps, ended, hold, pass } = await heldAt(t, 'list')
  const { tasks } = world.replica({ channels: channelsWaiting(world, 300) })
  const platformId = await uncertain(tasks.createTask, { prompt: 'x [[sandbox hang]]' })
  await world.settle()
  world.sandbox.faults.add({ faults: ['first-byte-ms=300'], match: { op: 'list' } })
  const round = createReconcileRound(deps, createObserve(deps), settings)
  const look = () => round(new AbortController().signal)
  pass(10_000)
  await hold(look)
  t.equal(await ended(platformId), false, 'what was listed says nothing of the deadline')
  pass(HOUR_MS)
  await look()
  t.equal(await ended(platformId), true)
})

t.test('an uncertain task of a family without lists ends after seven hours', async (t) => {
  const world = await startWorld(t)
  let nowMs = Date.now()
  const channels = sandboxSpeechChannels({ baseUrl: world.sandbox.url, timeoutMs: 300 })
  const { deps, tasks } = world.replica({ clock: { nowMs: () => nowMs }, channels })
  const text = 'x [[sandbox hang-after-accept]]'
  const asked = readSpeech({ model: 'speech-2.8-hd', voice_id: 'male-qn-badao', text }, 'task')
  const platformId = await uncertainOf(tasks.createTask, {
    ...createInput(),
    family: 'speech',
    surface: 'provB.speech.async',
    model: asked.model,
    facts: asked.facts,
    upstreamBody: () => withVoice(asked, asked.voiceId),
  })
  await world.settle()
  const look = async (afterMs: number) => {
    nowMs += afterMs
    await createReconcileRound(deps, createObserve(deps), settings)(new AbortController().signal)
    await world.settle()
    return (await world.eventsOf(platformId)).map(({ type }) => type)
  }
  const before = world.sandbox.requests().all.count
  t.notOk((await look(HOUR_MS)).includes('TaskExpired'))
  t.notOk((await look(5 * HOUR_MS)).includes('TaskExpired'))
  t.equal((await look(2 * HOUR_MS)).at(-1), 'TaskExpired')
  const [, , end] = await world.eventsOf(platformId)
  t.match(end, { data: { reason: 'deadline', possibleCostLeak: true } })
  t.equal(
    world.sandbox.requests().all.count,
    before,
    'upstream was not asked, and nothing sent again',
  )
})
