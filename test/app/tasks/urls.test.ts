import t from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import { createInput, startWorld, taskKey } from '../support/world.ts'

t.test('the result URLs of a task', async (t) => {
  const world = await startWorld(t, { sandbox: { queuedMs: 0, runningMs: 0 } })
  const { tasks } = world.replica()
  const input = createInput({ body: { return_last_frame: true } })
  const { platformId } = await tasks.createTask(input)
  const first = await eventually('success', async () => {
    const view = await tasks.getTask(taskKey(platformId))
    return view.urls === undefined ? undefined : view
  })
  t.match(first.urls, { video_url: /^http/, last_frame_url: /^http/ })
  const gets = (): number => world.sandbox.requests().routes['video-a.get']?.count ?? 0

  await t.test('come from the cache while they are valid', async (t) => {
    const before = gets()
    t.same((await tasks.getTask(taskKey(platformId))).urls, first.urls)
    const list = await tasks.listTasks({
      principal: input.principal,
      family: 'video-a',
      pageNumber: 1,
      pageSize: 10,
      status: 'succeeded',
      model: undefined,
      ids: [platformId],
    })
    t.same(list.items[0]?.urls, first.urls)
    t.equal(gets(), before)
  })

  await t.test('are queried once after they expire, for all callers at once', async (t) => {
    await world.pool.query(`update ops.task_urls set expires_at = now() - interval '1 second'`)
    const before = gets()
    const views = await Promise.all(
      Array.from({ length: 8 }, () => tasks.getTask(taskKey(platformId))),
    )
    t.ok(views.every((view) => view.urls?.['video_url'] !== undefined))
    // One, and a second one if another reader saw that they had expired just before they were
    // renewed.
    t.ok(gets() >= before + 1 && gets() <= before + 2, `${gets() - before} queries`)
  })

  await t.test('missing upstream are not shown, and not queried each time', async (t) => {
    await world.pool.query('delete from ops.task_urls')
    world.sandbox.advance(8 * 86_400_000)
    const view = await tasks.getTask(taskKey(platformId))
    t.equal(view.status, 'succeeded')
    t.equal(view.urls, undefined)
    const before = gets()
    await tasks.getTask(taskKey(platformId))
    t.equal(gets(), before)
  })

  await t.test('are in no event', async (t) => {
    const text = JSON.stringify((await world.eventsOf(platformId)).map((event) => event.data))
    t.notMatch(text, /https?:/)
  })
})
