import t from 'tap'
import { createObserve } from '../../../src/app/tasks/observe.ts'
import type { TaskObservation } from '../../../src/app/ports/provider.ts'
import { createInput, startWorld, TENANT } from '../support/world.ts'

t.test('a replica’s stale view of a task causes no second event', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 60_000 } })
  const [one, other] = [world.replica(), world.replica()]
  const created = await one.tasks.createTask(createInput())
  const { platformId, nativeId } = created
  t.ok(one.deps.known.get(platformId), 'known to the process that created it')
  t.notOk(other.deps.known.get(platformId))
  const observing = (replica: typeof one) => {
    const observe = createObserve(replica.deps)
    return (observation: Pick<TaskObservation, 'status' | 'upstreamStatus'>) =>
      observe({
        platformId,
        tenantId: TENANT,
        observation: { nativeId, output: {}, ...observation },
        correlationId: 'test',
      })
  }
  const [byOne, byOther] = [observing(one), observing(other)]
  const running = { status: 'running', upstreamStatus: 'running' } as const
  const failed = { status: 'failed', upstreamStatus: 'failed' } as const
  t.match(await byOther(running), { ended: false })
  // The first still knows it as it was submitted.
  t.match(await byOne(failed), { ended: true })
  t.notOk(one.deps.known.get(platformId), 'an end is not kept in mind')
  // The other one still knows it as running.
  t.match(await byOther(failed), { ended: true })
  t.match(await byOther(running), { ended: true }, 'what is over stays over')
  const types = (await world.eventsOf(platformId)).map(({ type }) => type)
  t.same(types, ['TaskRequested', 'TaskSubmitted', 'TaskStatusChanged', 'TaskFailed'])
})
