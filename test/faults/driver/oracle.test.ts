import t from 'tap'
import { nothingKept } from './assets/oracle.ts'
import type { LedgerLine } from './bill.ts'
import type { LoggedEvent, LoggedTask } from './log-reader.ts'
import { type Findings, sentAs } from './findings.ts'
import { judge } from './oracle.ts'
import type { Accepted } from './sandbox.ts'
import { Witness } from './witness.ts'

/** The oracle itself: it finds nothing where nothing is wrong, and every wrong there can be. */

const PRICED = { model: 'domestic-video-2-0', resolution: '720p', hasVideo: false }
const AT = '2026-01-02T03:04:05.000Z'

const accepted: Accepted = {
  seq: 1,
  id: 'cgt-1',
  family: 'video-a',
  requested_model: 'domestic-video-2-0-260128',
  safety_identifier: 'marker-1',
  client_marker: 'w0-1',
  accepted_at: AT,
  status: 'succeeded',
  finished: true,
  outcome: 'succeeded',
  success: true,
  usage: { completion_tokens: 1_000 },
  usage_later: null,
  cancelled: false,
  deleted: false,
  gone: false,
}

function event(type: string, commandId = 'cmd'): LoggedEvent {
  return { stream: 'task-video_1', type, revision: 0n, at: 0, commandId, data: {} }
}

const settlement = {
  nativeId: 'cgt-1',
  usage: { completion_tokens: 1_000 },
  currency: 'CNY',
  amount: '0.046',
  lines: [{ sku: 'domestic-video-2-0-720p-novideo', quantity: 1_000, amount: '0.046' }],
}

const task: LoggedTask = {
  platformId: 'video_1',
  tenantId: 'tenant_demo',
  events: ['TaskRequested', 'TaskSubmitted', 'TaskSucceeded', 'TaskSettled'].map((type) =>
    event(type),
  ),
  family: 'video-a',
  requestId: 'req_1',
  model: PRICED.model,
  settings: {},
  marker: 'marker-1',
  markerIsOurs: true,
  requestedAtMs: Date.parse(AT) - 50,
  nativeId: 'cgt-1',
  via: 'create',
  refused: false,
  uncertain: false,
  deleted: false,
  end: 'succeeded',
  possibleCostLeak: false,
  neverAccepted: false,
  settlements: [settlement],
}

const line: LedgerLine = {
  line_id: 'video_1:1',
  source_id: 'video_1',
  native_id: 'cgt-1',
  tenant_id: 'tenant_demo',
  model: PRICED.model,
  sku: 'domestic-video-2-0-720p-novideo',
  quantity: 1_000,
  currency: 'CNY',
  amount: '0.046000000000',
}

const openTask: LoggedTask = {
  ...task,
  events: [event('TaskRequested')],
  nativeId: undefined,
  via: undefined,
  end: undefined,
  settlements: [],
}

interface Scene {
  /** The creation of each request upstream was sent, by request id. */
  readonly markers?: Findings['sentAs']
  readonly accepted?: readonly Accepted[]
  readonly tasks?: readonly LoggedTask[]
  readonly lines?: readonly LedgerLine[]
  readonly when?: Findings['when']
}

function codes(scene: Scene = {}): readonly string[] {
  const witness = new Witness()
  const told = witness.intend({
    marker: 'w0-1',
    family: 'video-a',
    priced: PRICED,
    listed: {},
  })
  told.platformIds.add('video_1')
  const { tasks = [task], when = 'past-every-deadline' } = scene
  const byId = new Map(tasks.map((one) => [one.platformId, one]))
  const findings = {
    accepted: scene.accepted ?? [accepted],
    tasks: byId,
    sentAs: sentAs(byId, scene.markers ?? new Map(), witness),
    lines: scene.lines ?? [line],
    calls: {
      accepted: [],
      markers: new Map(),
      uploads: new Map(),
      calls: [],
      tasks: new Map(),
      lines: [],
      witness: witness.calls,
      deathsMs: [],
      mayBeOpen: false,
    },
    assets: nothingKept(),
    witness,
    when,
  }
  return [...new Set(judge(findings).map(({ code }) => code))].sort()
}

t.test('a success settled once and exactly has no finding', async (t) => {
  t.same(codes(), [])
})

t.test('reports a success unsettled, wrong in amount, doubled or without result', async (t) => {
  const failed = { ...accepted, success: false, outcome: 'failed', usage: null }
  const unsettled = { ...openTask, nativeId: 'cgt-1', end: 'failed' as const }
  t.same(codes({ tasks: [unsettled], lines: [] }), ['unsettled'])
  t.same(codes({ accepted: [failed] }), ['line_in_vain', 'settled_in_vain'])
  const dear = { ...settlement, amount: '0.047' }
  t.same(codes({ tasks: [{ ...task, settlements: [dear] }] }), ['wrong_amount'])
  const more = { ...settlement, usage: { completion_tokens: 1_001 } }
  t.ok(codes({ tasks: [{ ...task, settlements: [more] }] }).includes('wrong_usage'))
  const dollars = { ...settlement, currency: 'USD' }
  t.ok(codes({ tasks: [{ ...task, settlements: [dollars] }] }).includes('wrong_currency'))
  t.same(codes({ accepted: [{ ...accepted, deleted: true }] }), ['usage_destroyed'])
})

t.test('one upstream task for one request, with one owner', async (t) => {
  const twin = { ...accepted, seq: 2, id: 'cgt-2' }
  t.ok(codes({ accepted: [accepted, twin] }).includes('sent_twice'))
  const thief = { ...task, platformId: 'video_2' }
  t.ok(codes({ tasks: [task, thief] }).includes('owned_twice'))
  t.ok(codes({ tasks: [{ ...task, platformId: 'video_9' }] }).includes('wrong_owner'))
  t.ok(codes({ tasks: [{ ...task, marker: 'marker-2' }] }).includes('wrong_owner'))
  t.ok(codes({ accepted: [] }).includes('made_up'))
  t.ok(codes({ accepted: [{ ...accepted, client_marker: 'w9-9' }] }).includes('unasked'))
  t.same(codes({ tasks: [{ ...task, requestedAtMs: Date.parse(AT) + 5_000 }] }), [
    'intent_too_late',
  ])
})

t.test('the ledger has exactly the lines of the settlements', async (t) => {
  t.same(codes({ lines: [] }), ['line_missing'])
  t.same(codes({ lines: [line, { ...line, line_id: 'video_1:2' }] }), ['line_unexplained'])
  t.same(codes({ lines: [{ ...line, quantity: 999 }] }), ['line_differs'])
})

t.test('reports a success apart from its settlement, two ends and none', async (t) => {
  const [requested, submitted, succeeded, settled] = task.events
  const events = (...of: readonly (LoggedEvent | undefined)[]): LoggedTask => ({
    ...task,
    events: of.filter((one) => one !== undefined),
  })
  const apart = events(requested, submitted, succeeded, event('TaskSettled', 'another'))
  t.same(codes({ tasks: [apart] }), ['success_without_settlement'])
  t.same(codes({ tasks: [events(requested, submitted, succeeded)] }), [
    'success_without_settlement',
  ])
  const twice = events(requested, submitted, succeeded, settled, settled)
  t.same(codes({ tasks: [twice] }), ['twice'])
  t.same(codes({ tasks: [events(...task.events, event('TaskFailed'))] }), ['two_ends'])
  t.same(codes({ tasks: [events(submitted, succeeded, settled)] }), ['no_intent'])
})

t.test('an open task needs a reason, and has none past every deadline', async (t) => {
  const none = { lines: [] }
  const never = { ...accepted, success: false, finished: false, outcome: 'never', usage: null }
  const running = { ...openTask, nativeId: 'cgt-1' }
  const scene = { accepted: [never], tasks: [running], ...none }
  t.same(codes({ ...scene, when: 'present' }), [])
  t.same(codes(scene), ['still_open'])
  const failed = { ...never, finished: true, outcome: 'failed' }
  t.same(codes({ ...scene, accepted: [failed], when: 'present' }), ['end_unseen'])
  t.same(codes({ ...scene, tasks: [{ ...running, end: 'expired' }] }), ['leak_unreported'])
  t.same(codes({ accepted: [never], tasks: [], ...none }), ['unreported'])
})

t.test('a lost creation is excused only where it is ambiguous', async (t) => {
  const lost = { ...openTask, end: 'expired' as const, possibleCostLeak: true }
  const scene = { tasks: [lost], lines: [] }
  t.same(codes(scene), ['unsettled'], 'our own marker is certain')
  const theirs = { ...lost, markerIsOurs: false }
  t.same(codes({ ...scene, tasks: [theirs] }), ['unsettled'], 'alone it is certain as well')
  t.same(codes({ ...scene, tasks: [theirs, { ...theirs, platformId: 'video_2' }] }), [])
  t.same(codes({ ...scene, accepted: [{ ...accepted, gone: true }] }), [])
})

t.test('a task that never reached upstream is given up in time, and no other task', async (t) => {
  const givenUp = { ...openTask, end: 'failed' as const, neverAccepted: true }
  const never = { accepted: [], lines: [] }
  t.same(codes({ ...never, tasks: [givenUp] }), [])
  t.same(codes({ ...never, tasks: [openTask], when: 'present' }), [])
  t.same(codes({ ...never, tasks: [openTask], when: 'past-every-absence' }), ['absence_unseen'])
  const theirs = { ...openTask, markerIsOurs: false }
  t.same(codes({ ...never, tasks: [theirs], when: 'past-every-absence' }), [])
  t.same(codes({ ...never, tasks: [{ ...givenUp, markerIsOurs: false }] }), ['given_up_in_doubt'])
  t.same(codes({ lines: [], tasks: [givenUp] }), ['given_up_wrongly', 'unreported', 'unsettled'])
  // Lost upstream before any list had it: nobody can tell it from one that never was.
  const lost = [{ ...accepted, gone: true }]
  t.same(codes({ lines: [], tasks: [givenUp], accepted: lost }), [])
})
