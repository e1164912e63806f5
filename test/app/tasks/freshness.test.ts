import t from 'tap'
import { codeOf, createInput, startWorld } from '../support/world.ts'

t.test('creation is 503 while the projector lags more than 30 s', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  let lagMs = 30_001
  const lag = { lagMs: () => lagMs, look: () => Promise.resolve() }
  const { tasks } = world.replica({ lag })
  const sent = () => world.sandbox.requests().routes['video-a.create']?.count ?? 0
  t.equal(await codeOf(tasks.createTask(createInput())), 'read_model_behind')
  t.equal(sent(), 0, 'nothing is sent')
  lagMs = 30_000
  await tasks.createTask(createInput())
  t.equal(sent(), 1)
})
