import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { codeOf, openScene } from './scene.ts'

t.setTimeout(300_000)

t.test('without its log the gateway says so, sends nothing and comes back by itself', async (t) => {
  const scene = await openScene(t)
  const early = await scene.recovered()
  await scene.reaches(early, 'succeeded')

  await t.test('503 while the event store does not answer', async (t) => {
    const before = await scene.sentUpstream()
    const thaw = scene.freeze('event-store')
    const answers = await Promise.all([1, 2, 3].map(() => scene.create()))
    for (const answer of answers) {
      t.equal(answer.status, 503)
      t.equal(codeOf(answer), 'service_unavailable')
    }
    const later = await scene.create()
    t.equal(later.status, 503, 'and from then on at once')
    t.equal(await scene.sentUpstream(), before, 'nothing was sent upstream')
    const known = await scene.get(early)
    t.ok([200, 503].includes(known.status), `a query is answered ${known.status}`)
    thaw()
    const back = await scene.recovered()
    await scene.reaches(back, 'succeeded')
    t.equal((await scene.get(early)).body['status'], 'succeeded')
  })

  await t.test('503 while the event store is gone', async (t) => {
    const before = await scene.sentUpstream()
    // Longer than callers wait for a log, on however busy a machine.
    const away = scene.keepAway(['event-store'], 7_000)
    await sleep(500)
    const answers = await Promise.all([scene.create(), scene.create()])
    for (const answer of answers) t.equal(answer.status, 503)
    t.equal(await scene.sentUpstream(), before, 'nothing was sent upstream')
    await away
    await scene.reaches(await scene.recovered(), 'succeeded')
  })

  await t.test('late answers of the log delay callers, and make nothing twice', async (t) => {
    const stuttering = new AbortController()
    const stutter = (async () => {
      while (!stuttering.signal.aborted) {
        const thaw = scene.freeze('event-store')
        await sleep(350)
        thaw()
        await sleep(70)
      }
    })()
    const answers = []
    for (let made = 0; made < 6; made += 1) answers.push(await scene.create())
    stuttering.abort()
    await stutter
    for (const { status } of answers) t.ok([200, 502, 503].includes(status), `answered ${status}`)
    t.ok(
      answers.some(({ status }) => status === 200),
      'some got through',
    )
  })

  await t.test('a task accepted just as the log went away is found and settled', async (t) => {
    const creating = scene.create('first-byte-ms=1000')
    await sleep(500)
    const thaw = scene.freeze('event-store')
    const answer = await creating
    t.equal(answer.status, 502)
    t.equal(answer.headers.get('x-should-retry'), 'false')
    const id = answer.headers.get('x-platform-id') ?? ''
    thaw()
    await scene.recovered()
    await scene.reaches(id, 'succeeded')
  })
  await scene.judge()
})
