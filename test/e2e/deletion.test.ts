import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { sharedStack } from '../helpers/stack.ts'
import { queriesOf, steadyHeaders, tasksOf } from './support/client.ts'

const stack = await sharedStack(t)
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const foreign = tasksOf(stack.url, stack.other.modelToken)
const finance = queriesOf(stack.url, stack.demo.queryToken)

const acceptedOf = (id: string) => stack.sandbox.accepted().find((task) => task.id === id)

t.test('a queued task is cancelled upstream and stays visible as cancelled', async (t) => {
  const id = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
  const deleted = await tasks.del(id)
  t.equal(deleted.status, 200)
  t.same(deleted.body, {})
  t.match(deleted.headers.get('x-platform-id'), /^video_/)
  t.equal((await tasks.get(id)).body.status, 'cancelled')
  t.equal(acceptedOf(id)?.cancelled, true)
  await stack.caughtUp()
  t.same(
    (await finance.lines(`source_id=${deleted.headers.get('x-platform-id')}`)).body.data.items,
    [],
  )
  t.equal((await tasks.del(id)).status, 200, 'then it is hidden')
  t.equal((await tasks.get(id)).status, 404)
})

t.test('409 InvalidAction.RunningTaskDeletion on a running task, which goes on', async (t) => {
  const id = await tasks.created({ prompt: 'x [[sandbox stall]]' })
  await tasks.reaches(id, 'running')
  const refused = await tasks.del(id)
  t.equal(refused.status, 409)
  t.match(refused.body.error, {
    code: 'InvalidAction.RunningTaskDeletion',
    type: 'Conflict',
    param: '',
  })
  t.equal(refused.headers.get('x-should-retry'), 'false')
  t.equal((await tasks.get(id)).body.status, 'running')
  t.match(acceptedOf(id), { cancelled: false, deleted: false })
})

t.test('an ended task is hidden; its history and its lines stay', async (t) => {
  const id = await tasks.created()
  const platformId = (await tasks.reaches(id, 'succeeded')).headers.get('x-platform-id') ?? ''
  t.equal((await tasks.del(id)).status, 200)
  t.equal((await tasks.get(id)).status, 404)
  t.equal((await tasks.get(platformId)).status, 404)
  t.equal((await tasks.del(id)).status, 404, 'it is gone for its tenant')
  t.same((await tasks.list(`filter.task_ids=${id}`)).body, { items: [], total: 0 })
  t.match(acceptedOf(id), { deleted: false }, 'upstream keeps its record and its usage')
  await stack.caughtUp()
  t.equal((await finance.lines(`source_id=${platformId}`)).body.data.items.length, 1)
  const history = await finance.history(id)
  t.equal(history.body.data.items.at(-1).type, 'TaskDeleted')
})

t.test('a failed task is hidden by its platform id too', async (t) => {
  const created = await tasks.create({ prompt: 'x [[sandbox fail=InternalServiceError]]' })
  await tasks.reaches(created.body.id, 'failed')
  t.equal((await tasks.del(created.headers.get('x-platform-id') ?? '')).status, 200)
  t.equal((await tasks.get(created.body.id)).status, 404)
})

t.test('a deletion at the end of rendering settles before it hides', async (t) => {
  const id = await tasks.created({ prompt: 'x [[sandbox queued-ms=0 running-ms=20]]' })
  await eventually('deleted', async () => ((await tasks.del(id)).status === 200 ? true : undefined))
  const history = await eventually('settled', async () => {
    const { body } = await finance.history(id)
    const types = body.data.items.map((item: { type: string }) => item.type)
    return types.includes('TaskDeleted') ? types : undefined
  })
  t.same(history.slice(-3), ['TaskSucceeded', 'TaskSettled', 'TaskDeleted'])
})

t.test('ten deletions at once of a queued task: one cancellation, no error', async (t) => {
  const id = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
  const answers = await Promise.all(Array.from({ length: 10 }, () => tasks.del(id)))
  t.same([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(acceptedOf(id)?.cancelled, true)
  await stack.caughtUp()
  const types = (await finance.history(id)).body.data.items.map((i: { type: string }) => i.type)
  t.equal(types.filter((type: string) => type === 'TaskCancelled').length, 1)
})

t.test("another tenant's task is answered byte for byte as an unknown one", async (t) => {
  const unknown = 'cgt-20260101000000-aaaaa'
  const created = await tasks.create()
  const id: string = created.body.id
  const done = await tasks.reaches(id, 'succeeded')
  const platformId = done.headers.get('x-platform-id') ?? ''
  const stalled = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
  for (const ask of [foreign.get, foreign.del]) {
    const reference = await ask(unknown)
    t.equal(reference.status, 404)
    t.equal(reference.body.error.code, 'task_not_found')
    for (const theirs of [id, platformId, stalled]) {
      const answer = await ask(theirs)
      t.equal(answer.status, 404)
      t.equal(answer.text, reference.text)
      t.same(steadyHeaders(answer), steadyHeaders(reference))
    }
  }
  t.equal((await tasks.get(stalled)).body.status, 'queued', 'nothing happened to it')
  const strangers = queriesOf(stack.url, stack.other.queryToken)
  t.equal((await strangers.history(id)).text, (await strangers.history(unknown)).text)
  t.equal((await strangers.history(id)).status, 404)
})
