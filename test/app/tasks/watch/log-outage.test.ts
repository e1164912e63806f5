import t from 'tap'
import { eventually } from '../../../helpers/eventually.ts'
import { codeOf, createInput, startWorld, uncertain } from '../../support/world.ts'

t.test('an accepted task that the log refused is uncertain, then recorded late', async (t) => {
  const world = await startWorld(t, {
    storeProcess: true,
    sandbox: { queuedMs: 60_000 },
    logLimits: { appendDeadlineMs: 700, appendTryMs: 300 },
  })
  let killed: Promise<void> | undefined
  const { tasks } = world.replica({
    crashPoint: (name) => {
      if (name === 'create.after-provider') killed = world.store.kill9()
    },
  })
  const id = await uncertain(tasks.createTask, {})
  await killed
  t.equal(await codeOf(tasks.createTask(createInput())), 'log_unavailable')
  t.equal(world.sandbox.accepted().length, 1, 'nothing is sent while the log is away')
  await world.store.restart()
  const submitted = await eventually('the late append', async () =>
    (await world.eventsOf(id).catch(() => [])).find((event) => event.type === 'TaskSubmitted'),
  )
  t.match(submitted, { data: { nativeId: world.sandbox.accepted()[0]?.id, via: 'create' } })
})
