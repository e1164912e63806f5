import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openScene, type Scene } from './scene.ts'

t.setTimeout(300_000)

/** What a caller hears while upstream is not itself: of a creation, a query, a deletion. */
async function hear(scene: Scene, known: string): Promise<readonly number[]> {
  const answers = await Promise.all([scene.create(), scene.get(known), scene.remove(known)])
  return answers.map(({ status }) => status)
}

t.test('without its upstream the gateway says so and comes back by itself', async (t) => {
  const scene = await openScene(t)
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
    ...['garbage', 'malformed', 'truncated', 'bad-http', 'http=500', 'http=503'].map((fault) => ({
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
  await scene.judge()
})
