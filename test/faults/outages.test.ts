import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Answer } from './driver/caller.ts'
import { dice, seedOfTests } from './driver/random.ts'
import { codeOf, openScene, type Scene } from './scene.ts'
import { atLength } from '../helpers/long-run.ts'

/** One gateway that loses what it stands on, one thing after the other. */

t.setTimeout(1_200_000)

t.test('the gateway answers 503 while one of its parts is away, and recovers', async (t) => {
  const scene = await openScene(t)
  const early = await scene.recovered()
  await scene.reaches(early, 'succeeded')
  await t.test('without its log no creation is sent', (t) => withoutLog(t, scene, early))
  await t.test('without Postgres no creation is sent', (t) => withoutPostgres(t, scene, early))
  await t.test('without its upstream it serves known state', (t) => withoutUpstream(t, scene))
  await scene.judge()
})

async function withoutLog(t: Test, scene: Scene, early: string): Promise<void> {
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
    await refusedWithout(t, scene, ['event-store'], async () => {
      await sleep(500)
      return Promise.all([scene.create(), scene.create()])
    })
  })

  await t.test('late answers of the log delay callers, and duplicate no task', async (t) => {
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
}

/** A busy machine gives a store the time to come back between two kills. */
const TRIES = 3

/** Asks while these are killed again and again: all is refused, and nothing is sent upstream. */
async function refusedWithout(
  t: Test,
  scene: Scene,
  targets: Parameters<Scene['keepAway']>[0],
  ask: () => Promise<readonly Answer[]>,
): Promise<void> {
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const before = await scene.sentUpstream()
    const answers = await scene.keepAway(targets, ask)
    const statuses = answers.map(({ status }) => status)
    const sent = (await scene.sentUpstream()) - before
    await scene.reaches(await scene.recovered(), 'succeeded')
    const isAway = statuses.every((status) => status === 503)
    if (!isAway && tries < TRIES) {
      t.comment(`answered ${statuses.join(', ')}: it came back between two kills`)
      continue
    }
    t.ok(isAway, `answered ${statuses.join(', ')}`)
    t.same(
      answers.map(codeOf).filter((code) => code !== 'service_unavailable'),
      [],
    )
    return void t.equal(sent, 0, 'nothing was sent upstream')
  }
}

async function withoutPostgres(t: Test, scene: Scene, early: string): Promise<void> {
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
    await refusedWithout(t, scene, ['postgres'], async () => {
      await sleep(1_000)
      return [await scene.create(), await scene.get(early)]
    })
  })

  await t.test('tasks that end while Postgres is away are settled once it is back', async (t) => {
    const created = await scene.create('running-ms=1500')
    t.equal(created.status, 200)
    await scene.keepAway(['postgres'], () => sleep(3_000))
    await scene.recovered()
    await scene.reaches(String(created.body['id']), 'succeeded')
  })

  /** The server and each of its sessions: a session goes on without its parent. */
  function freezeAll(): () => void {
    const thaws = [scene.freeze('postgres'), scene.freeze('database-sessions')]
    return () => thaws.forEach((thaw) => thaw())
  }
}

/** What a caller hears while upstream is not itself: of a creation, a query, a deletion. */
async function hear(scene: Scene, known: string): Promise<readonly number[]> {
  const answers = await Promise.all([scene.create(), scene.get(known), scene.remove(known)])
  return answers.map(({ status }) => status)
}

/** Wrong answers; in short one of those without sense and one that is a failure, by the seed. */
const chance = dice(`outages ${seedOfTests()}`)
const senseless = ['garbage', 'malformed', 'truncated', 'bad-http']
const failures = ['http=500', 'http=503']
const faults = atLength(
  [chance.pick(senseless), chance.pick(failures)],
  [...senseless, ...failures],
)

async function withoutUpstream(t: Test, scene: Scene): Promise<void> {
  const { sandbox } = scene.trial
  /** Never ends. */
  const running = await createRunning()

  async function createRunning(): Promise<string> {
    const answer = await scene.create('stall')
    t.equal(answer.status, 200)
    const id = String(answer.body['id'])
    await scene.reaches(id, 'running')
    return id
  }

  const cases = [
    { what: 'is down', begin: () => sandbox.kill(), end: () => sandbox.restart() },
    {
      what: 'hangs',
      begin: async () => sandbox.freeze(),
      end: async () => sandbox.thaw(),
    },
    ...faults.map((fault) => ({
      what: `answers with ${fault}`,
      begin: () => sandbox.addFault({ faults: [fault] }),
      end: () => sandbox.clearFaults(),
    })),
  ]
  for (const { what, begin, end } of cases)
    await t.test(`while upstream ${what}`, async (t) => {
      await begin()
      const [created = 0, queried, removed = 0] = await hear(scene, running)
      t.ok([502, 503].includes(created), `a creation is answered ${created}`)
      t.equal(queried, 200, 'a query shows what is known')
      t.ok([502, 503].includes(removed), `a deletion is answered ${removed}`)
      await end()
      await scene.reaches(await scene.recovered(), 'succeeded')
      t.equal((await scene.get(running)).body['status'], 'running')
    })

  await t.test('a task that ends while upstream is away is settled afterwards', async (t) => {
    const answer = await scene.create('running-ms=1000')
    t.equal(answer.status, 200)
    sandbox.freeze()
    await sleep(2_000)
    sandbox.thaw()
    await scene.reaches(String(answer.body['id']), 'succeeded')
  })
}
