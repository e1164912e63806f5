import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { call, queriesOf, tasksOf } from './support/client.ts'

const stack = await startStack()
t.teardown(() => stack.stop())

t.test('api, projector and worker as separate processes work like one process', async (t) => {
  const projector = await stack.replica(['projector'])
  const worker = await stack.replica(['worker'])
  const api = await stack.replica(['api'])
  await stack.gateway.stop()
  t.equal(projector.url, '', 'only the api listens')
  t.equal(worker.url, '')

  const tasks = tasksOf(api.url, stack.demo.modelToken)
  const finance = queriesOf(api.url, stack.demo.queryToken)
  const created = await tasks.create()
  const platformId = created.headers.get('x-platform-id') ?? ''
  // Nobody asks for it: the worker alone sees its end, the projector alone writes its line.
  const [line] = await eventually('its line', async () => {
    const { body } = await finance.lines(`source_id=${platformId}`)
    return body.data.items.length > 0 ? body.data.items : undefined
  })
  t.match(line, { source_id: platformId, amount: '5.0094' })
  t.equal((await tasks.get(platformId)).body.status, 'succeeded')

  await projector.stop()
  const late = await tasks.create({ prompt: 'x [[sandbox stall-queued]]' })
  t.equal(late.status, 200, 'creations do not wait for read models')
  const again = await stack.replica(['projector'])
  t.equal((await tasks.get(late.body.id)).body.status, 'queued')
  t.equal((await call(`${api.url}/readyz`)).status, 200)
  await again.stop()
})
