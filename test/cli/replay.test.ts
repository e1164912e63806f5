import { randomUUID } from 'node:crypto'
import t from 'tap'
import { taskStream } from '../../src/domain/task/events.ts'
import { changeTokenLimits, disableToken } from '../../src/app/accounts/account-commands.ts'
import { middayZone } from '../helpers/midday-zone.ts'
import { startStack } from '../helpers/stack.ts'
import { call, tasksOf } from '../e2e/support/client.ts'
import { environmentOf, printedEvents, tollgate, typesOf } from './support/commands.ts'
import { tollgateThrough } from './support/tollgate.ts'

const stack = await startStack()
t.teardown(() => stack.stop())
const { log } = stack.gateway
const env = environmentOf(stack)
const tasks = tasksOf(stack.url, stack.demo.modelToken)
const done = await tasks.created()
const platformId = (await tasks.reaches(done, 'succeeded')).headers.get('x-platform-id') ?? ''
const chat = await call(`${stack.url}/v1/chat/completions`, {
  method: 'POST',
  token: stack.demo.modelToken,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'text-basic', messages: [{ role: 'user', content: 'hello' }] }),
})
const middle = new Date().toISOString()
const deletion = (await tasks.del(done)).headers.get('x-request-id') ?? ''
const queued = await tasks.created({ prompt: 'x [[sandbox stall-queued]]' })
await tasksOf(stack.url, stack.other.modelToken).created()
await stack.caughtUp()

const replay = (...args: readonly string[]) => tollgate(['replay', ...args], env)
const events = await log.readStream(taskStream(platformId))

t.test('every event of a task by native or platform id, or its request id', async (t) => {
  const byNative = await replay(done, '--json')
  t.equal(byNative.code, 0)
  t.equal(byNative.stderr, '', 'no progress for instant work')
  t.same(
    typesOf(byNative.stdout),
    events.map(({ type }) => type),
  )
  t.equal(typesOf(byNative.stdout).at(-1), 'TaskDeleted')
  const request = events[0]?.metadata.correlationId ?? ''
  for (const id of [platformId, request])
    t.equal((await replay(id, '--json')).stdout, byNative.stdout, id)
  t.same(typesOf((await replay(deletion, '--json')).stdout), ['TaskDeleted'])
})

t.test('the table shows time, elapsed time, step, money and details', async (t) => {
  const { stdout } = await replay(done)
  const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`
  const [subject, ...lines] = stdout.trimEnd().split('\n')
  t.equal(subject, `${platformId} of ${stack.demo.tenantId}`)
  t.equal(lines.length, events.length + 2)
  t.match(lines[0], /^TIME \(UTC\) +AFTER +STEP +MONEY +DETAIL$/)
  t.match(lines[1], new RegExp(`^${time} {13}TaskRequested +hold [\\d.]+ CNY +domestic-video-2-0$`))
  const settled = lines.find((line) => line.includes('TaskSettled'))
  t.match(
    settled,
    new RegExp(`^${time} +\\+\\d+ ms  TaskSettled +pays 5.0094 CNY +108900 token domestic-`),
  )
  t.match(lines.at(-1), /^\d+ events in [\d.]+ s, 5\.0094 CNY to pay$/)
  for (const line of lines) t.ok(line.length <= 200, line)
})

t.test('a ledger line is its task; --money and --errors show some of the events', async (t) => {
  const line = await replay(`${platformId}:1`, '--json')
  t.equal(line.stdout, (await replay(platformId, '--json')).stdout)
  const money = typesOf((await replay(platformId, '--money', '--json')).stdout)
  t.same(money, ['TaskRequested', 'TaskSettled'])
  t.match(await replay(platformId, '--errors'), { code: 0, stdout: /of / })
  const failed = await tasks.created({ prompt: 'x [[sandbox fail=InternalError]]' })
  await tasks.reaches(failed, 'failed')
  await stack.caughtUp()
  t.same(typesOf((await replay(failed, '--errors', '--json')).stdout), ['TaskFailed'])
})

t.test('--tz shows times of a zone, whose day --today and dates are', async (t) => {
  const shown = await replay(platformId, '--tz', 'Asia/Kolkata')
  t.match(shown.stdout, /\nTIME \(LOCAL\) /)
  const [first] = events
  const local = new Date((first?.recordedAt.getTime() ?? 0) + 19_800_000).toISOString()
  t.match(shown.stdout, local.slice(0, 23).replace('T', ' '))
  const today = ['--tenant', stack.demo.tenantId, '--today', '--tz', middayZone(), '--json']
  t.ok(typesOf((await replay(...today)).stdout).includes('TaskSettled'))
  const tomorrow = ['--tenant', stack.demo.tenantId, '--from', '2999-01-01', '--tz', 'Asia/Kolkata']
  t.match(await replay(...tomorrow), { code: 1, stderr: /no events match/ })
  t.match(await replay(platformId, '--tz', 'IST'), {
    code: 2,
    stderr: /did you mean `Asia\/Kolkata`/,
  })
  t.match(await replay(platformId, '--today', '--from', '2026-01-01'), { code: 2 })
})

t.test('a token and a user show everything that was asked with or by them', async (t) => {
  const { tenantId, userId } = stack.demo
  const byUser = typesOf((await replay(userId, '--tenant', tenantId, '--json')).stdout)
  for (const type of ['TaskRequested', 'TaskSettled', 'CallSettled']) t.ok(byUser.includes(type))
  const [{ data } = { data: {} }] = printedEvents(
    (await replay(String(chat.headers.get('x-call-id')), '--json')).stdout,
  )
  const byToken = typesOf(
    (await replay(String(Reflect.get(Object(data), 'tokenId')), '--json')).stdout,
  )
  t.ok(byToken.includes('TaskSettled') && byToken.includes('CallSettled'), 'what it asked')
  t.equal(byToken[0], 'TokenIssued', 'after its own events')
  const unknown = await replay('user_none', '--tenant', tenantId)
  t.match(unknown, { code: 1, stderr: /nothing was found for user_none/ })
})

t.test('the events of a call by its id or its request id', async (t) => {
  const requestId = chat.headers.get('x-request-id') ?? ''
  const byRequest = await replay(requestId, '--json')
  t.same(typesOf(byRequest.stdout), ['CallSettled'])
  const { callId = '' } = (printedEvents(byRequest.stdout)[0]?.['data'] ?? {}) as {
    readonly callId?: string
  }
  t.equal((await replay(callId, '--json')).stdout, byRequest.stdout)
  const words = await replay(callId)
  t.match(
    words.stdout,
    /CallSettled +pays 0\.\d+ USD +text-basic, completed: \d+ token text-basic-/,
  )
  t.match(words.stdout, /\n1 event, 0\.\d+ USD to pay\n$/)
})

t.test('--from-log prints the same events while Postgres is away', async (t) => {
  const away = { ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' }
  const fromLog = (...args: readonly string[]) => tollgate(['replay', '--from-log', ...args], away)
  const chatRequest = chat.headers.get('x-request-id') ?? ''
  const created = events[0]?.metadata.correlationId ?? ''
  for (const args of [
    [done],
    [platformId],
    [created],
    [deletion],
    [chatRequest],
    ['--tenant', stack.demo.tenantId, '--to', middle],
    [done, '--tenant', stack.demo.tenantId, '--json'],
    ['--tenant', stack.demo.tenantId, '--as-of', middle],
  ]) {
    const read = await fromLog(...args)
    t.match(read, { code: 0, stderr: '' }, args.join(' '))
    const expected = (await replay(...args)).stdout
    // The timeline does not keep the order of members.
    if (args.includes('--json')) t.same(printedEvents(read.stdout), printedEvents(expected))
    else t.equal(read.stdout, expected)
  }
  t.match(await fromLog('req_none'), { code: 1, stderr: /nothing was found/ })
  t.match(await fromLog(done, '--tenant', stack.other.tenantId), { code: 1 })
})

t.test('a task as of a position or a time has the state of that moment', async (t) => {
  const submitted = events.find(({ type }) => type === 'TaskSubmitted')
  const [early] = printedEvents(
    (await replay(done, '--as-of', `${submitted?.position}`, '--json')).stdout,
  )
  t.match(early, { platformId, state: { phase: 'active', status: 'queued', nativeId: done } })
  const [ended] = printedEvents((await replay(done, '--as-of', middle, '--json')).stdout)
  t.match(ended, {
    state: {
      phase: 'ended',
      status: 'succeeded',
      deleted: false,
      settlement: { amount: '5.0094' },
    },
  })
  const table = await replay(done, '--as-of', '2999-01-01')
  t.match(table.stdout, /^TASK .*\nvideo_\S+ +succeeded +domestic-video-2-0 .* 5\.0094 CNY +yes\n$/)
  const before = await replay(done, '--as-of', '1')
  t.match(before, { code: 1, stderr: /did not exist then/ })
})

t.test('--tenant prints its events in a time range, and no other tenant’s', async (t) => {
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

t.test('later changes of a token are events of its tenant too', async (t) => {
  const { tenantId } = stack.other
  const issued = printedEvents((await replay('--tenant', tenantId, '--json')).stdout).find(
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

t.test('a tenant as of a time: every task, and its balances', async (t) => {
  const { tenantId } = stack.demo
  const then = printedEvents(
    (await replay('--tenant', tenantId, '--as-of', middle, '--json')).stdout,
  )
  t.equal(then.length, 2)
  t.match(then[0], { platformId, state: { status: 'succeeded', deleted: false } })
  t.match(then[1], {
    balances: [
      { currency: 'CNY', credit: '10000', settled: '5.0094', held: '0', available: '9994.9906' },
      {
        currency: 'USD',
        credit: '10000',
        settled: /^0\.\d+$/,
        held: '0',
        available: /^9999\.\d+$/,
      },
    ],
  })
  const now = await replay('--tenant', tenantId, '--as-of', '2999-01-01')
  t.match(now.stdout, new RegExp(`queued +domestic-video-2-0 +${queued}`))
  t.match(now.stdout, /\nCURRENCY +CREDIT .*\nCNY +10000 +5\.0094 +[1-9]/, 'what is queued is held')
})

t.test(
  'one line of reason for what cannot be replayed, status 1, or 2 for wrong arguments',
  async (t) => {
    for (const [args, why, code = 1] of [
      [[], /give an id of a task, call or request, or --asset, or --tenant/, 2],
      [['cgt-20260101000000-aaaaa'], /nothing was found for cgt-2026/],
      [[done, '--tenant', stack.other.tenantId], /nothing was found for cgt-/],
      [[done, '--to', '2000-01-01'], /no events match/],
      [
        [chat.headers.get('x-request-id') ?? '', '--as-of', '2999-01-01'],
        /needs a task or a tenant/,
      ],
      [['--tenant', 'tenant_nobody'], /no events match/],
      [['--tenant', 'tenant_nobody', '--as-of', '5'], /no events match/],
      [[done, '--as-of', 'yesterday'], /--as-of must be a date or an RFC 3339 time/, 2],
      [[done, '--from', '2026-13-01'], /--from must be a date or an RFC 3339 time/, 2],
      [[done, '--as-of', '5', '--from', '2026-01-01'], /--as-of cannot be combined with --from/, 2],
    ] as readonly (readonly [readonly string[], RegExp, number?])[]) {
      const ended = await replay(...args)
      t.equal(ended.code, code, args.join(' '))
      t.match(ended.stderr, why)
      t.notMatch(ended.stderr, /\n\s+at /)
    }
  },
)

t.test('events prints the whole log, after a position, and through head', async (t) => {
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
  t.equal(printedEvents(all.stdout).at(-1)?.['position'], String(end))
  const last = await tollgate(['events', '--after', String((end ?? 0n) - 1n)], env)
  t.equal(printedEvents(last.stdout).length, 1)
  t.match(await tollgate(['events', '--after', 'x'], env), { code: 2, stderr: /--after must be/ })
  const head = await tollgateThrough(['events'], '| head -n 1', env)
  t.equal(printedEvents(head.stdout).length, 1)
  t.equal(head.stderr, '')
  t.equal(head.code, 0)
})
