import t, { type Test } from 'tap'
import { createPoller } from '../../../../src/app/tasks/watch/poll.ts'
import { createReconcileRound } from '../../../../src/app/tasks/watch/reconcile.ts'
import { createObserve } from '../../../../src/app/tasks/observe.ts'
import { createInput, shortChannels, startWorld, uncertain } from '../../support/world.ts'

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

t.test('a task seen gone before its deadline is asked for again after it', async (t) => {
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

t.test('a submission found nowhere before its deadline is looked for again after it', async (t) => {
  const { world, deps, ended, hold, pass } = await heldAt(t, 'list')
  const { tasks } = world.replica({ channels: shortChannels(world, 300) })
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
