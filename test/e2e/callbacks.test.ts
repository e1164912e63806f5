import t from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { startStack } from '../helpers/stack.ts'
import { queriesOf, startReceiver, tasksOf } from './support/client.ts'

const receiver = await startReceiver()
t.teardown(() => receiver.close())
const stack = await startStack({
  sandbox: { callbackMap: new Map([['hooks.example.com', receiver.origin]]) },
  hosts: {
    'hooks.example.com': ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
    'inside.example.com': ['10.0.0.7'],
    'half.example.com': ['93.184.216.34', '169.254.169.254'],
    'mapped.example.com': ['::ffff:127.0.0.1'],
    'shared.example.com': ['100.64.0.1'],
  },
})
t.teardown(() => stack.stop())
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const finance = queriesOf(stack.url, stack.demo.queryToken)

const deliveriesOf = (id: string) => receiver.deliveries.filter(({ body }) => body.id === id)
const until = (id: string, count: number) =>
  eventually(`${count} callbacks of ${id}`, () =>
    deliveriesOf(id).length >= count ? deliveriesOf(id) : undefined,
  )

t.test('the model service calls the URL it was given, in its own shape', async (t) => {
  const id = await tasks.created({ callback_url: ' https://hooks.example.com/done?token=7 ' })
  const deliveries = await until(id, 3)
  t.same(
    deliveries.map(({ body }) => body.status),
    ['queued', 'running', 'succeeded'],
  )
  for (const { path, host } of deliveries) {
    t.equal(path, '/done?token=7')
    t.equal(host, 'hooks.example.com')
  }
})

t.test('CallbackURL is accepted too; callback_url takes precedence', async (t) => {
  const alias = await tasks.created({ CallbackURL: 'https://hooks.example.com/alias' })
  t.equal((await until(alias, 1))[0]?.path, '/alias')
  const both = await tasks.created({
    CallbackURL: 'https://inside.example.com/loses',
    callback_url: 'https://hooks.example.com/wins',
  })
  t.equal((await until(both, 1))[0]?.path, '/wins')
})

t.test('duplicate and reordered callbacks change no settlement', async (t) => {
  const id = await tasks.created({
    prompt: 'x [[sandbox callback-storm=5 callback-reorder]]',
    callback_url: 'https://hooks.example.com/storm',
  })
  const deliveries = await until(id, 15)
  t.equal(deliveries.at(-1)?.body.status, 'running', 'an old word came last')
  const done = await tasks.reaches(id, 'succeeded')
  await stack.caughtUp()
  const platformId = done.headers.get('x-platform-id')
  t.equal((await finance.lines(`source_id=${platformId}`)).body.data.items.length, 1)
  t.equal((await tasks.get(id)).body.status, 'succeeded')
})

t.test('400 invalid_request for every URL that is not publicly reachable', async (t) => {
  const before = stack.sandbox.accepted().length
  for (const url of [
    'http://hooks.example.com/',
    'https://127.0.0.1/',
    'https://[::1]/',
    'https://0x7f.1/',
    'https://localhost/',
    'https://user:secret@hooks.example.com/',
    'https://inside.example.com/',
    'https://half.example.com/',
    'https://mapped.example.com/',
    'https://shared.example.com/',
    'https://unknown.example.com/',
    '   ',
    '',
    7,
  ]) {
    const answer = await tasks.create({ callback_url: url })
    t.equal(answer.status, 400, String(url))
    t.match(answer.body.error, { code: 'invalid_request', param: 'callback_url' })
  }
  const alias = await tasks.create({ CallbackURL: 'https://inside.example.com/' })
  t.match(alias.body.error, { code: 'invalid_request', param: 'CallbackURL' })
  t.equal(stack.sandbox.accepted().length, before, 'nothing was sent upstream')
})

t.test('the callback URL is in no log and in no event', async (t) => {
  t.notMatch(stack.logged(), /hooks\.example\.com/)
  for await (const event of stack.gateway.log.readAll())
    t.notMatch(JSON.stringify(event.data), /hooks\.example\.com/)
})
