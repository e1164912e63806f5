import { parseAmount } from '../../../src/kernel/money.ts'
import { catalog } from '../../../src/families/index.ts'
import * as fc from 'fast-check'
import t from 'tap'
import { videoAModels } from '../../../src/families/video-a/rules/models.ts'
import type { TaskEvent } from '../../../src/domain/task/events.ts'
import type { TaskCommand, TaskState } from '../../../src/domain/task/state.ts'
import { unreachable } from '../../../src/kernel/assert.ts'
import { isDomainError } from '../../../src/kernel/errors.ts'
import { audio, prompt, video } from '../../families/video-a/rules/requests.ts'
import {
  appeared,
  at,
  expiresAt,
  explained,
  failureIsFree,
  moneyMovesWithState,
  nativeId,
  notAccepted,
  persistable,
  requestOf,
} from './tasks.ts'
import { character } from '../../helpers/characters.ts'

/** A model of the promises, not of the code: what has happened so far, as a caller would tell it. */
interface Model {
  phase: 'none' | 'requested' | 'uncertain' | 'refused' | 'queued' | 'running' | 'ended'
  nativeId: string | undefined
  /** Whether it was given up without a known submission, and whether it appeared after that. */
  absent: 'no' | 'given-up' | 'appeared'
  settled: boolean
  deleted: boolean
  /** Whether it was seen made without usable usage, and whether an operator gave it up. */
  withheld: boolean
  givenUp: boolean
}

interface Real {
  state: TaskState
  events: TaskEvent[]
}

const request = requestOf()
const errors = new Set(['task_state_conflict', 'task_running', 'task_not_found', 'give_up_refused'])

/** Runs a command; a broken rule leaves the task as it is. */
function run(real: Real, command: TaskCommand): readonly TaskEvent[] | string {
  try {
    const events = catalog.taskDecider.decide(command, real.state)
    real.state = events.reduce(catalog.taskDecider.evolve, real.state)
    real.events.push(...events)
    return events
  } catch (error) {
    if (!isDomainError(error)) throw error
    if (!errors.has(error.code)) throw new Error(`unexpected code ${error.code}`, { cause: error })
    return error.code
  }
}

function expected(command: TaskCommand, model: Model): readonly string[] | string {
  const live = model.phase === 'queued' || model.phase === 'running'
  switch (command.kind) {
    case 'request':
      return model.phase === 'none' ? ['TaskRequested'] : []
    case 'submitted': {
      if (model.phase !== 'requested' && model.phase !== 'uncertain') return '*'
      return command.status === 'running'
        ? ['TaskSubmitted', 'TaskStatusChanged']
        : ['TaskSubmitted']
    }
    case 'refuse':
      if (model.phase === 'refused') return []
      return model.phase === 'requested' || model.phase === 'uncertain'
        ? ['TaskSubmissionRefused']
        : 'task_state_conflict'
    case 'start':
      // Upstream has tasks of this family: no worker of ours makes any.
      return 'task_state_conflict'
    case 'succeed':
    case 'fail':
      return model.phase === 'ended' ? [] : 'task_state_conflict'
    case 'uncertain':
      if (model.phase === 'none') return 'task_state_conflict'
      return model.phase === 'requested' ? ['TaskSubmissionUncertain'] : []
    case 'expire':
      return command.at >= expiresAt &&
        command.nativeId === model.nativeId &&
        !['none', 'refused', 'ended'].includes(model.phase)
        ? ['TaskExpired']
        : []
    case 'not-accepted':
      return model.phase === 'uncertain' ? ['TaskFailed'] : []
    case 'give-up':
      if (model.givenUp) return command.noteId === 'note_1' ? [] : 'give_up_refused'
      if (model.phase === 'uncertain') return ['TaskFailed']
      return live && model.withheld && command.at >= expiresAt ? ['TaskFailed'] : 'give_up_refused'
    case 'appeared':
      return model.absent === 'given-up' ? ['TaskAppearedLate'] : []
    case 'delete':
      if (model.phase === 'none' || model.phase === 'refused') return 'task_not_found'
      if (model.phase !== 'ended') return 'task_running'
      return model.deleted ? [] : ['TaskDeleted']
    case 'observe': {
      const { status, usage, nativeId: seen } = command.observation
      if (!live || seen !== model.nativeId) return []
      const measured =
        Number.isSafeInteger(usage?.completion_tokens) && usage!.completion_tokens! >= 0
      if (status === 'unknown' || (status === 'succeeded' && !measured)) return '*'
      if (status === 'succeeded') return ['TaskSucceeded', 'TaskSettled']
      if (status === 'failed') return ['TaskFailed']
      if (status === 'expired') return ['TaskExpired']
      if (status === 'cancelled') return ['TaskCancelled']
      return status === 'running' && model.phase === 'queued' ? ['TaskStatusChanged'] : []
    }
    default:
      return unreachable(command)
  }
}

function advance(model: Model, events: readonly TaskEvent[]): void {
  const before = model.phase
  for (const { type, data } of events)
    if (type === 'TaskRequested') model.phase = 'requested'
    else if (type === 'TaskSubmissionUncertain') model.phase = 'uncertain'
    else if (type === 'TaskSubmissionRefused') model.phase = 'refused'
    else if (type === 'TaskSubmitted') {
      model.phase = 'queued'
      model.nativeId = data.nativeId
      model.withheld = false
    } else if (type === 'TaskAppearedLate') model.absent = 'appeared'
    else if (type === 'TaskStatusChanged') {
      model.phase = data.status
      model.withheld ||= data.awaitsUsage === true
    } else if (type === 'TaskSettled') model.settled = true
    else if (type === 'TaskDeleted') model.deleted = true
    else {
      model.phase = 'ended'
      if (type !== 'TaskFailed') continue
      if (data.absence !== undefined || (data.givenUp && before === 'uncertain'))
        model.absent = 'given-up'
      if (data.givenUp !== undefined) model.givenUp = true
    }
}

const isSettled = (events: readonly TaskEvent[]): boolean =>
  events.some(({ type }) => type === 'TaskSettled')

/** Usage that may be more than its request can cost: such a success is withheld. */
function mayBeAboveCeiling(command: TaskCommand): boolean {
  if (command.kind !== 'observe' || command.observation.status !== 'succeeded') return false
  const { completion_tokens: tokens = 0, 'tool.web_search': searches = 0 } =
    command.observation.usage ?? {}
  return tokens > 50_000 || searches > 5
}

class Step implements fc.Command<Model, Real> {
  readonly command: TaskCommand
  constructor(command: TaskCommand) {
    this.command = command
  }
  check(): boolean {
    return true
  }
  run(model: Model, real: Real): void {
    const before = model.phase
    const decided = run(real, this.command)
    const predicted =
      mayBeAboveCeiling(this.command) && typeof decided !== 'string' && !isSettled(decided)
        ? '*'
        : expected(this.command, model)
    const kinds = typeof decided === 'string' ? decided : decided.map(({ type }) => type)
    if (predicted !== '*' && JSON.stringify(kinds) !== JSON.stringify(predicted))
      throw new Error(`decided ${String(kinds)} where ${String(predicted)} is right`)
    if (typeof decided === 'string') return
    // What the model leaves open (words we do not know, submissions out of place) ends nothing.
    if (predicted === '*' && decided.some(({ type }) => type !== 'TaskStatusChanged'))
      throw new Error(`ended on ${String(kinds)}`)
    moneyMovesWithState(decided)
    advance(model, decided)
    if (before === 'ended' && model.phase !== 'ended') throw new Error('an end was undone')
    if (typeof kinds !== 'string' && run(real, this.command).length > 0 && predicted !== '*')
      throw new Error('the same command again decided to something')
  }
  toString(): string {
    return JSON.stringify(this.command).slice(0, 200)
  }
}

const count = fc.oneof(
  { arbitrary: fc.nat(5), weight: 4 },
  { arbitrary: fc.nat(400_000), weight: 4 },
  fc.nat(5_000_000),
  fc.maxSafeNat(),
  fc.constantFrom<number | undefined>(0, undefined, -1, 0.5, 2 ** 53, Number.NaN),
)
const usage = fc.option(
  fc.tuple(count, fc.option(count, { nil: undefined })).map(([tokens, searches]) => ({
    ...(tokens === undefined ? {} : { completion_tokens: tokens, total_tokens: tokens }),
    ...(searches === undefined ? {} : { 'tool.web_search': searches }),
  })),
  { nil: undefined },
)
const observation = fc.record({
  kind: fc.constant('observe' as const),
  at: fc.constant(at),
  observation: fc.record({
    status: fc.constantFrom(
      ...([
        'queued',
        'running',
        'succeeded',
        'succeeded',
        'failed',
        'expired',
        'cancelled',
        'unknown',
      ] as const),
    ),
    nativeId: fc.constantFrom(nativeId, nativeId, nativeId, 'cgt-other'),
    upstreamStatus: fc.string({ maxLength: 3, unit: character }),
    usage,
    output: fc.dictionary(
      fc.constantFrom('resolution', 'ratio', 'seed', 'video_url', '__proto__'),
      fc.constantFrom<string | number | null>(
        '720p',
        '1080p',
        'https://x.test/?sig=1',
        5,
        null,
        '\uD800',
      ),
    ),
    error: fc.option(fc.record({ code: fc.string(), message: fc.string() }), { nil: undefined }),
  }),
})
const command: fc.Arbitrary<TaskCommand> = fc.oneof(
  { weight: 6, arbitrary: observation },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('submitted' as const),
      nativeId: fc.constantFrom(nativeId, nativeId, 'cgt-other'),
      channelId: fc.constant('channel-1'),
      via: fc.constantFrom('create' as const, 'reconciliation' as const),
      status: fc.constantFrom('queued' as const, 'running' as const, undefined),
      at: fc.constant(at),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<TaskCommand>(
      { kind: 'uncertain', reason: 'timeout', at },
      { kind: 'refuse', code: 'x', message: 'y', at },
      { kind: 'expire', nativeId, at },
      { kind: 'expire', nativeId, at: expiresAt },
      { kind: 'expire', nativeId: undefined, at: expiresAt },
      notAccepted,
      appeared,
      { kind: 'give-up', noteId: 'note_1', at },
      { kind: 'give-up', noteId: 'note_1', at: expiresAt },
      { kind: 'delete', tokenId: 'token_2', at },
    ),
  },
)

function notAboveFourHolds(
  events: readonly TaskEvent[],
  { hold }: { readonly hold: string },
): void {
  for (const { type, data } of events)
    if (type === 'TaskSettled' && parseAmount(data.settlement.amount) > 4n * parseAmount(hold))
      throw new Error(`settled ${data.settlement.amount} of a hold of ${hold}`)
}

t.test('any sequence of commands keeps P2, P4 and P5 and fits the persisted schemas', async (t) => {
  const bodies = [
    {},
    { content: [prompt, video()] },
    { content: [prompt, audio()], resolution: undefined },
  ]
  const requests = videoAModels.flatMap(({ name }) => bodies.map((body) => requestOf(name, body)))
  requests.push(requestOf('domestic-video-2-5', { tools: [{ type: 'web_search' }] }))
  const seen = { settled: 0, ended: 0, conflicts: 0 }
  const step = command.map((command) => new Step(command))
  fc.assert(
    fc.property(
      fc.constantFrom(...requests),
      fc.commands([step], { maxCommands: 24, size: 'max' }),
      (data, commands) => {
        const model: Model = {
          phase: 'none',
          nativeId: undefined,
          absent: 'no',
          settled: false,
          deleted: false,
          withheld: false,
          givenUp: false,
        }
        const real: Real = { state: catalog.taskDecider.initial, events: [] }
        new Step({ kind: 'request', data }).run(model, real)
        fc.modelRun(() => ({ model, real }), commands)
        explained(real.events, data.quote)
        notAboveFourHolds(real.events, data.quote)
        failureIsFree(real.events)
        persistable(real.events)
        if (model.settled) seen.settled += 1
        if (model.phase === 'ended') seen.ended += 1
      },
    ),
    { numRuns: 3_000 },
  )
  t.ok(seen.settled > 200, `settled in ${seen.settled} of 3000 runs`)
  t.ok(seen.ended > seen.settled, `ended in ${seen.ended}`)
})

t.test('folding the events again gives an equal state', async (t) => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 20 }), (commands) => {
      const real: Real = { state: catalog.taskDecider.initial, events: [] }
      for (const command of [{ kind: 'request' as const, data: request }, ...commands])
        run(real, command)
      const again = real.events.reduce(catalog.taskDecider.evolve, catalog.taskDecider.initial)
      return JSON.stringify(again) === JSON.stringify(real.state)
    }),
    { numRuns: 500 },
  )
  t.pass('500 histories')
})

t.test('commands before any request record no event', async (t) => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 20 }), (commands) => {
      const real: Real = { state: catalog.taskDecider.initial, events: [] }
      for (const command of commands) run(real, command)
      return real.events.length === 0
    }),
    { numRuns: 500 },
  )
  t.pass('500 histories')
})
