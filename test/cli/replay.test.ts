import { randomUUID } from 'node:crypto'
import t from 'tap'
import { taskStream } from '../../src/domain/task/events.ts'
import { changeTokenLimits, disableToken } from '../../src/app/accounts/bootstrap.ts'
import { startStack } from '../helpers/stack.ts'
import { tasksOf } from '../e2e/support/client.ts'
import { tollgate } from './support/commands.ts'
import { tollgateThrough } from './support/tollgate.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { log } = stack.gateway
const env = {
  EVENTSTORE_URL: stack.eventStoreUrl,
  DATABASE_URL: stack.databaseUrl,
  EVENTSTORE_NAMESPACE: stack.namespace,
  MARKER_SECRET: 'a marker secret of the tests',
}
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const done = await tasks.created()
const platformId = (await tasks.reaches(done, 'succeeded')).headers.get('x-platform-id') ?? ''
const middle = new Date().toISOString()
await tasks.del(done)
const queued = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
await tasksOf(stack.url, stack.other.modelToken).created()
await stack.caughtUp()

const replay = (...args: readonly string[]) => tollgate(['replay', ...args], env)
const json = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, never>)
const typesOf = (text: string) => json(text).map(({ type }) => String(type))
const events = await log.readStream(taskStream(platformId))

t.test('a task by native or platform id: every event in order', async (t) => {
  const byNative = await replay('--task', done, '--json')
  t.equal(byNative.code, 0)
  t.equal(byNative.stderr, '', 'no progress for instant work')
  t.same(
    typesOf(byNative.stdout),
    events.map(({ type }) => type),
  )
  t.equal(typesOf(byNative.stdout).at(-1), 'TaskDeleted')
  t.equal((await replay('--task', platformId, '--json')).stdout, byNative.stdout)
  const words = await replay('--task', done)
  t.match(words.stdout, /\d+  \d{4}-\d\d-\d\dT\S+  task-video_\w+  TaskRequested  \{/)
})

t.test('a task as of a position or a time is the state then', async (t) => {
  const submitted = events.find(({ type }) => type === 'TaskSubmitted')
  const [early] = json(
    (await replay('--task', done, '--as-of', `${submitted?.position}`, '--json')).stdout,
  )
  t.match(early, { platformId, state: { phase: 'active', status: 'queued', nativeId: done } })
  const [ended] = json((await replay('--task', done, '--as-of', middle, '--json')).stdout)
  t.match(ended, {
    state: {
      phase: 'ended',
      status: 'succeeded',
      deleted: false,
      settlement: { amount: '5.0094' },
    },
  })
  const table = await replay('--task', done, '--as-of', '2999-01-01')
  t.match(table.stdout, /^TASK .*\nvideo_\S+ +succeeded +domestic-video-2-0 .* 5\.0094 CNY +yes\n$/)
  const before = await replay('--task', done, '--as-of', '1')
  t.match(before, { code: 1, stderr: /did not exist then/ })
})

t.test('a tenant: its events and nobody else’s, within a time range', async (t) => {
  const { tenantId } = stack.demo
  const all = await replay('--tenant', tenantId, '--json')
  t.equal(all.code, 0)
  const types = new Set(typesOf(all.stdout))
  for (const type of ['TenantOpened', 'CreditGranted', 'TokenIssued', 'TaskSettled', 'TaskDeleted'])
    t.ok(types.has(type), type)
  t.notMatch(all.stdout, /tenant_other/)
  const early = await replay('--tenant', tenantId, '--to', middle, '--json')
  const late = await replay('--tenant', tenantId, '--from', middle, '--json')
  t.equal(early.stdout + late.stdout, all.stdout)
  t.ok(typesOf(late.stdout).includes('TaskDeleted'))
  t.notOk(typesOf(early.stdout).includes('TaskDeleted'))
})

t.test('what happened to a token later belongs to its tenant too', async (t) => {
  const { tenantId } = stack.other
  const issued = json((await replay('--tenant', tenantId, '--json')).stdout).find(
    ({ type }) => String(type) === 'TokenIssued',
  )
  const { tokenId } = (issued?.['data'] ?? {}) as { readonly tokenId: string }
  await changeTokenLimits(stack.access, { tokenId, changes: { requestsPerMinute: 60 } })
  await disableToken(stack.access, { tokenId, reason: 'test' })
  const after = await replay('--tenant', tenantId, '--json')
  // A task of the tenant may end meanwhile.
  const ofTokens = typesOf(after.stdout).filter((type) => type.startsWith('Token'))
  t.same(ofTokens.slice(-2), ['TokenLimitsChanged', 'TokenDisabled'])
})

t.test('a tenant as of a time: every task then, and what it could spend', async (t) => {
  const { tenantId } = stack.demo
  const then = json((await replay('--tenant', tenantId, '--as-of', middle, '--json')).stdout)
  t.equal(then.length, 2)
  t.match(then[0], { platformId, state: { status: 'succeeded', deleted: false } })
  t.match(then[1], {
    balances: [
      { currency: 'CNY', credit: '10000', settled: '5.0094', held: '0', available: '9994.9906' },
      { currency: 'USD', credit: '10000', settled: '0', held: '0', available: '10000' },
    ],
  })
  const now = await replay('--tenant', tenantId, '--as-of', '2999-01-01')
  t.match(now.stdout, new RegExp(`queued +domestic-video-2-0 +${queued}`))
  t.match(now.stdout, /\nCURRENCY +CREDIT .*\nCNY +10000 +5\.0094 +[1-9]/, 'what is queued is held')
})

t.test('1 with one line why for what cannot be replayed', async (t) => {
  for (const [args, why] of [
    [[], /say --tenant or --task/],
    [['--task', 'cgt-20260101000000-aaaaa'], /no task cgt-2026/],
    [['--task', done, '--tenant', stack.other.tenantId], /no task cgt-/],
    [['--tenant', 'tenant_nobody'], /no events match/],
    [['--tenant', 'tenant_nobody', '--as-of', '5'], /no events match/],
    [['--task', done, '--as-of', 'yesterday'], /--as-of must be an RFC 3339 time/],
    [['--task', done, '--from', '2026-13-01'], /--from must be an RFC 3339 time/],
    [['--task', done, '--as-of', '5', '--from', '2026-01-01'], /--as-of shows a state/],
  ] as const) {
    const ended = await replay(...args)
    t.equal(ended.code, 1, args.join(' '))
    t.match(ended.stderr, why)
    t.notMatch(ended.stderr, /\n\s+at /)
  }
})

t.test('events: the whole log, after a position, and through head', async (t) => {
  // More than a pipe holds, so that head leaves while there is more to say.
  const stream = taskStream(`video_${'0'.repeat(26)}`)
  const metadata = { schemaVersion: 1, correlationId: 'x'.repeat(2_000), commandId: 'c' }
  const bulk = Array.from({ length: 200 }, () => ({
    type: 'TaskCancelled' as const,
    id: randomUUID(),
    data: { platformId: `video_${'0'.repeat(26)}`, cancelledAt: middle },
    metadata,
  }))
  await log.append(stream, bulk, 'no_stream')
  const end = await log.endPosition()
  const all = await tollgate(['events'], env)
  t.equal(all.code, 0)
  t.equal(json(all.stdout).at(-1)?.['position'], String(end))
  const last = await tollgate(['events', '--after', String((end ?? 0n) - 1n)], env)
  t.equal(json(last.stdout).length, 1)
  t.match(await tollgate(['events', '--after', 'x'], env), { code: 1, stderr: /--after must be/ })
  const head = await tollgateThrough(['events'], '| head -n 1', env)
  t.equal(json(head.stdout).length, 1)
  t.equal(head.stderr, '')
  t.equal(head.code, 0)
})
