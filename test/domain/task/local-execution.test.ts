import { catalog } from '../../../src/families/index.ts'
import t from 'tap'
import { readImageOrder } from '../../../src/families/image/rules/request.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import type { TaskCommand, TaskRequest } from '../../../src/domain/task/state.ts'
import { order } from '../../families/image/rules/orders.ts'
import { shippedBook } from '../pricing/books.ts'
import {
  active,
  after,
  appeared,
  at,
  explained,
  failureIsFree,
  given,
  moneyMovesWithState,
  notAccepted,
  observe,
  persistable,
  refuse,
  remove,
  request as requestCommand,
  requestOf,
  submitted,
  types,
  uncertain,
} from './tasks.ts'

/** Tasks that a worker of ours makes in one call. */

const platformId = 'image_01JD0000000000000000000001'
const expiresAt = '2026-01-02T03:20:00.000Z'
const { model, facts } = readImageOrder(order({ n: 2 }))
const asked: TaskRequest = {
  ...requestOf(),
  platformId,
  family: 'image',
  surface: 'v1.images.generations.async',
  model,
  facts,
  madeHere: true,
  quote: catalog.taskFamily('image').quote(model, facts, shippedBook),
}
const request = requestCommand(asked)
const start: TaskCommand = { kind: 'start', channelId: 'channel-2', expiresAt, at }
const succeed = (usage: Readonly<Record<string, number>> = { image: 2 }): TaskCommand => ({
  kind: 'succeed',
  nativeId: platformId,
  seen: { usage, output: { quality: 'low' } },
  at,
})
const fail = (possibleCostLeak = false): TaskCommand => ({
  kind: 'fail',
  code: 'upstream_error',
  message: 'no',
  possibleCostLeak,
  at,
})
const expire = (time = expiresAt): TaskCommand => ({
  kind: 'expire',
  nativeId: undefined,
  at: time,
})

const requested = [request]
const started = [request, start]
const doubted = [...started, uncertain]
const ends = [
  [...started, succeed()],
  [...started, fail()],
  [...requested, fail()],
  [...started, expire()],
]

t.test('a start is recorded once: the second worker must not send', async (t) => {
  t.strictSame(after(...requested).when(start), [
    { type: 'TaskStarted', data: { platformId, channelId: 'channel-2', startedAt: at, expiresAt } },
  ])
  const { state } = given(...started)
  t.match(state, { phase: 'started', request: { channelId: 'channel-2', expiresAt } })
  for (const past of [[], started, doubted, [...requested, refuse], ...ends])
    t.throws(() => after(...past).when(start), { code: 'task_state_conflict' })
})

t.test('a result is settled with its success, also after doubt, never past the end', async (t) => {
  for (const past of [started, doubted]) {
    const events = after(...past).when(succeed())
    t.match(events, [
      { type: 'TaskSucceeded', data: { nativeId: platformId, usage: { image: 2 } } },
      {
        type: 'TaskSettled',
        data: {
          platformId,
          nativeId: platformId,
          settlement: { lines: [{ sku: 'image-2-low-image', quantity: 2 }] },
        },
      },
    ])
  }
  for (const past of ends) t.strictSame(after(...past).when(succeed()), [])
  for (const past of [[], requested, [...requested, refuse]])
    t.throws(() => after(...past).when(succeed()), { code: 'task_state_conflict' })
  t.match(given(...started, succeed()).state, { phase: 'ended', nativeId: platformId })
})

t.test('a result that cannot be settled is a failure with a possible cost leak', async (t) => {
  const { model: byTokens, facts: theirs } = readImageOrder(order({}, { model: 'image-2.5-flare' }))
  const quote = catalog.taskFamily('image').quote(byTokens, theirs, shippedBook)
  const other = requestCommand({ ...asked, model: byTokens, facts: theirs, quote })
  t.match(after(other, start).when(succeed({ image: 1 })), [
    { type: 'TaskFailed', data: { code: 'upstream_error', possibleCostLeak: true } },
  ])
})

t.test('a failure is recorded before and after the start, and in doubt', async (t) => {
  for (const past of [requested, started, doubted]) {
    t.strictSame(after(...past).when(fail()), [
      {
        type: 'TaskFailed',
        data: { platformId, code: 'upstream_error', message: 'no', failedAt: at },
      },
    ])
    t.match(after(...past).when(fail(true)), [{ data: { possibleCostLeak: true } }])
  }
  for (const past of ends) t.strictSame(after(...past).when(fail()), [])
  for (const past of [[], [...requested, refuse]])
    t.throws(() => after(...past).when(fail()), { code: 'task_state_conflict' })
})

t.test('doubt begins with the start, and ends at the time that the start named', async (t) => {
  t.strictSame(after(...requested).when(uncertain), [])
  t.strictSame(types(after(...started).when(uncertain)), ['TaskSubmissionUncertain'])
  t.strictSame(after(...doubted).when(uncertain), [])
  for (const past of [started, doubted]) {
    t.strictSame(after(...past).when(expire('2026-01-02T03:19:59.999Z')), [])
    t.match(after(...past).when(expire()), [
      { type: 'TaskExpired', data: { reason: 'deadline', possibleCostLeak: true } },
    ])
  }
  // Nothing of it was sent, so nothing can have been made.
  t.strictSame(after(...requested).when(expire(asked.expiresAt)), [])
})

t.test('observations of an upstream task are refused or ignored for local tasks', async (t) => {
  for (const past of [requested, started, doubted]) {
    t.throws(() => after(...past).when(submitted), { code: 'task_state_conflict' })
    t.strictSame(after(...past).when(observe('succeeded')), [])
    t.strictSame(after(...past).when(appeared), [])
    t.throws(() => after(...past).when(remove), { code: 'task_running' })
  }
  t.throws(() => after(...started).when(refuse), { code: 'task_state_conflict' })
  t.strictSame(types(after(...requested).when(refuse)), ['TaskSubmissionRefused'])
  for (const past of [started, doubted]) t.strictSame(after(...past).when(notAccepted), [])
})

t.test('local execution is refused for tasks of an upstream', async (t) => {
  for (const past of [[requestCommand()], [requestCommand(), uncertain], active])
    for (const command of [start, succeed(), fail()])
      t.throws(() => after(...past).when(command), { code: 'task_state_conflict' })
})

t.test('any commands in any order keep P2, P4 and P5', async (t) => {
  const commands = [
    start,
    succeed(),
    fail(),
    uncertain,
    expire(),
    refuse,
    remove,
    observe('failed'),
  ]
  const sequences = commands.flatMap((first) =>
    commands.flatMap((second) => commands.map((third) => [first, second, third])),
  )
  for (const sequence of sequences) {
    let events: readonly TaskEvent[] = []
    const past: TaskCommand[] = [request]
    for (const command of sequence) {
      const decided = decidedOrNone(past, command)
      moneyMovesWithState(decided)
      events = [...events, ...decided]
      if (decided.length > 0) past.push(command)
    }
    explained(events, asked.quote)
    failureIsFree(events)
    persistable(events)
  }
  t.pass(`${sequences.length} sequences`)
})

function decidedOrNone(past: readonly TaskCommand[], command: TaskCommand): readonly TaskEvent[] {
  try {
    return after(...past).when(command)
  } catch {
    return []
  }
}
