import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { codeOf, openScene } from './scene.ts'

t.setTimeout(300_000)

t.test('without Postgres the gateway says so and comes back by itself', async (t) => {
  const scene = await openScene(t)
  const early = await scene.recovered()
  await scene.reaches(early, 'succeeded')

  await t.test('503 while Postgres does not answer', async (t) => {
    const before = await scene.sentUpstream()
    const thaw = freezeAll()
    const answers = await Promise.all([scene.create(), scene.get(early), scene.remove(early)])
    for (const answer of answers) {
      t.equal(answer.status, 503)
      t.equal(codeOf(answer), 'service_unavailable')
    }
    t.equal(await scene.sentUpstream(), before, 'nothing was sent upstream')
    thaw()
    await scene.reaches(await scene.recovered(), 'succeeded')
  })

  await t.test('503 while Postgres is gone', async (t) => {
    const before = await scene.sentUpstream()
    const away = scene.keepAway(['postgres', 'postgres-wrapper'], 5_000)
    await sleep(1_000)
    for (const answer of [await scene.create(), await scene.get(early)]) {
      t.equal(answer.status, 503)
      t.equal(codeOf(answer), 'service_unavailable')
    }
    t.equal(await scene.sentUpstream(), before, 'nothing was sent upstream')
    await away
    await scene.reaches(await scene.recovered(), 'succeeded')
  })

  await t.test('tasks that end while Postgres is away are settled once it is back', async (t) => {
    const created = await scene.create('running-ms=1500')
    t.equal(created.status, 200)
    await scene.keepAway(['postgres'], 3_000)
    await scene.recovered()
    await scene.reaches(String(created.body['id']), 'succeeded')
  })
  await scene.judge()

  /** The server and each of its sessions: a session goes on without its parent. */
  function freezeAll(): () => void {
    const thaws = [scene.freeze('postgres'), scene.freeze('database-sessions')]
    return () => thaws.forEach((thaw) => thaw())
  }
})
