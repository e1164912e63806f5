import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type AuditedRow,
  canonicalTime,
  type Owner,
} from '../../projections/engine/audited-rows.ts'
import { allProjections } from '../../projections/registry.ts'
import { accountStream } from '../../src/domain/account/events.ts'
import { isFirstOfSource, sourceOf, type AnyEvent } from '../../src/domain/any-event.ts'
import { taskEvents } from '../../src/domain/task/events.ts'
import { tokenStream } from '../../src/domain/token/events.ts'
import type { Expected } from '../../src/app/audit/compare.ts'
import { isTaskEvent } from '../../src/app/audit/task-state.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { history } from '../app/audit/support/audited.ts'
import { propertyRuns } from '../helpers/property-runs.ts'
import { accountEventRows, accountRows, proposalRows, tokenRows } from './oracles/access.ts'
import { assetAfter, groupAfter, verificationAfter } from './oracles/assets.ts'
import { fileAfter, uploadAfter, voiceAfter } from './oracles/files.ts'
import { keyRows, periodRows } from './oracles/statements.ts'
import { nativeId, pollRow, taskRow } from './oracles/tasks.ts'
import {
  openTenant,
  Recorder,
  recordStep,
  START_MS,
  taskSteps,
  type TaskStep,
} from './support/history.ts'
import {
  assetSteps,
  groupSteps,
  recordAsset,
  recordGroup,
  recordVerification,
  type AssetStep,
  type GroupStep,
} from './support/library.ts'

/** An audit compares rows with the tables' own folds; second folds, written apart, show that those are right. */

/** What an event must have left in the timeline. */
interface TimelineEffect {
  readonly event: Expected
  /** The source it begins. */
  readonly source: Expected | undefined
}

/** What an event must have left in the timeline, given its source; undefined for nothing. */
function timelineEffect(
  event: RecordedEvent,
  known: Owner | undefined,
): TimelineEffect | undefined {
  // The price book, the database and the issuer of statements belong to no tenant.
  if (event.type === 'PriceBookPublished' || event.type === 'DatabaseAdopted') return undefined
  if (event.type === 'IssuerProfileSet' || event.type === 'StatementKeyPublished') return undefined
  const { data, position } = event
  const sourceId = sourceOf(event)
  const owner = 'tenantId' in data ? data : known
  const whose = {
    tenant_id: owner?.tenantId,
    user_id: owner && 'userId' in owner ? owner.userId : undefined,
  }
  return {
    event: {
      position,
      ...whose,
      source_id: sourceId,
      type: event.type,
      event_id: event.id,
      stream: event.stream,
      revision: event.revision,
      at: canonicalTime(event.recordedAt),
      data,
      metadata: event.metadata,
      key_hash: 'idempotency' in data ? (data.idempotency?.keyHash ?? null) : null,
    },
    source: isFirstOfSource(event) ? { source_id: sourceId, ...whose, position } : undefined,
  }
}

type Rows = ReadonlyMap<string, AuditedRow>
type Oracle = (events: readonly RecordedEvent[]) => Rows

const RUNS = propertyRuns(300)

/** An oracle of one row a stream. */
function byStream(
  key: string,
  after: (row: AuditedRow | undefined, event: RecordedEvent) => AuditedRow | undefined,
): Oracle {
  return (events) => one(key, events.reduce<AuditedRow | undefined>(after, undefined))
}

function one(key: string, row: AuditedRow | undefined): Rows {
  return new Map(row && [[String(row[key]), row]])
}

const oracles: Readonly<Record<string, Oracle>> = {
  'access.tenants': (events) => accountRows(events).tenants,
  'access.users': (events) => accountRows(events).users,
  'access.accounts': (events) => accountEventRows(events),
  'access.tokens': (events) => one('token_id', tokenRows(events).token),
  'access.secrets': (events) => tokenRows(events).secrets,
  'proposals.proposals': (events) => proposalRows(events),
  'statements.periods': (events) => periodRows(events),
  'statements.keys': (events) => keyRows(events),
  'files.files': byStream('file_id', fileAfter),
  'voices.uploads': byStream('file_id', uploadAfter),
  'voices.voices': byStream('voice_key', voiceAfter),
  'assets.assets': byStream('asset_id', assetAfter),
  'assets.groups': byStream('group_id', groupAfter),
  'assets.verifications': byStream('verification_id', verificationAfter),
  'tasks.tasks': (events) => one('platform_id', taskRow(events.filter(isTaskEvent))),
  'tasks.polls': (events) => one('platform_id', pollRow(taskRow(events.filter(isTaskEvent)))),
}

/** A row with every cell as text, as an audit compares it. */
function cells(row: AuditedRow): Readonly<Record<string, unknown>> {
  const cell = (value: unknown): unknown => {
    const isPlain = ['bigint', 'number', 'boolean'].includes(typeof value)
    return isPlain ? `${value as bigint}` : (value ?? null)
  }
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cell(value)]))
}

function asText(rows: Rows): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...rows].map(([key, row]) => [key, cells(row)]))
}

const streamTables = allProjections.flatMap((projection) => projection.streamTables ?? [])

/** Where a table's fold and its oracle differ after any of the events of a stream, and how many rows agree. */
function compare(events: readonly RecordedEvent[]): {
  readonly differing: readonly string[]
  readonly agreed: number
} {
  const differing: string[] = []
  let agreed = 0
  for (let length = 1; length <= events.length; length += 1) {
    const some = events.slice(0, length)
    for (const { table, types, rows, mayLack } of streamTables) {
      const oracle = oracles[table.name]
      if (oracle === undefined || !some.some(({ type }) => types.has(type))) continue
      // A policy ends a watch, so that no history has it.
      const folded = [...rows(some)].filter(([, row]) => row['kind'] !== 'watch' || !mayLack?.(row))
      const [found, wanted] = [asText(new Map(folded)), asText(oracle(some))]
      if (isDeepStrictEqual(found, wanted)) agreed += folded.length
      else {
        const after = some.map(({ type }) => type).join(' ')
        const both = [found, wanted].map((row) => JSON.stringify(row)).join('\n')
        differing.push(`${table.name} after ${after}:\n${both}`)
      }
    }
  }
  return { differing, agreed }
}

/** Some of the steps of a thing, in any order. */
function anyOf<Step extends string>(steps: readonly Step[], max = 8): fc.Arbitrary<Step[]> {
  return fc.array(fc.constantFrom(...steps), { maxLength: max })
}

/** Folds of random histories agree with the oracles. */
function agree<T>(
  t: Test,
  histories: fc.Arbitrary<T>,
  events: (of: T) => readonly RecordedEvent[],
) {
  let agreed = 0
  fc.assert(
    fc.property(histories, (one) => {
      const found = compare(events(one))
      agreed += found.agreed
      if (found.differing.length > 0) throw new Error(found.differing[0])
    }),
    { numRuns: RUNS },
  )
  t.ok(agreed > RUNS, `${agreed} rows agree`)
}

t.test('every table of a recorded history folds as its oracle says', (t) => {
  const streams = new Map<string, RecordedEvent[]>()
  for (const event of history(new Recorder(), 200, 20))
    streams.set(event.stream, [...(streams.get(event.stream) ?? []), event])
  let agreed = 0
  for (const events of streams.values()) {
    const found = compare(events)
    t.same(found.differing, [])
    agreed += found.agreed
  }
  t.ok(agreed > 1_000, `${agreed} rows agree`)
  const known = streamTables.map(({ table }) => table.name)
  t.same(
    Object.keys(oracles).filter((name) => !known.includes(name)),
    [],
    'every oracle is of a table that is folded',
  )
  t.end()
})

t.test('the timeline has the rows of its oracle for every event', (t) => {
  const owners = new Map<string, Owner>()
  const timeline = allProjections.find(({ name }) => name === 'timeline')
  const [ofEvents, ofSources] = timeline?.eventTables ?? []
  const histories = new Map<string, RecordedEvent[]>()
  let begun = 0
  for (const event of history(new Recorder(), 200, 20)) {
    const id = sourceOf(event)
    const owner = id === undefined ? undefined : owners.get(id)
    const effect = timelineEffect(event, owner)
    const { source } = effect ?? {}
    if (id !== undefined && source)
      owners.set(id, { tenantId: String(source['tenant_id']), userId: source['user_id'] as string })
    const [row, begins] = [ofEvents?.row(event, owner), ofSources?.row(event, owner)]
    t.same(row && cells(row), effect && cells(effect.event), event.type)
    t.same(begins && cells(begins), source && cells(source), event.type)
    begun += begins ? 1 : 0
    histories.set(event.stream, [...(histories.get(event.stream) ?? []), event])
  }
  t.ok(begun > 200, `${begun} sources begin`)
  const [names] = timeline?.streamTables ?? []
  for (const events of histories.values()) {
    const ofTask = events.filter(isTaskEvent)
    const [first] = ofTask
    if (first)
      t.same(names?.rows(events).get(first.data.platformId), { native_id: nativeId(ofTask) })
  }
  t.end()
})

const beginnings: readonly TaskStep[] = ['requested', 'waiting']
const beforeEnd: readonly TaskStep[] = ['started', 'submitted', 'uncertain', 'running', 'withheld']
const ends: readonly TaskStep[] = [
  'refused',
  'succeeded',
  'failed',
  'notAccepted',
  'expired',
  'cancelled',
]
const steps = taskSteps({ n: 0 })
/** What else there is: a new step is one of them. */
const afterEnd = (Object.keys(steps) as TaskStep[]).filter(
  (step) => ![beginnings, beforeEnd, ends].flat().includes(step),
)

t.test('every event of a task is a step of its histories', (t) => {
  const types = Object.values(steps).map(({ type }) => type)
  t.same(new Set(types), new Set(Object.keys(taskEvents)))
  t.end()
})

t.test('for any events of a task, its row and its poll equal their oracles', (t) => {
  const lives = fc.record({
    n: fc.nat(50),
    first: fc.constantFrom(...beginnings),
    before: anyOf(beforeEnd, 5),
    end: fc.option(fc.constantFrom(...ends)),
    after: anyOf(afterEnd, 3),
  })
  agree(t, lives, ({ n, first, before, end, after }) => {
    const recorder = new Recorder()
    const steps = [first, ...before, ...(end === null ? [] : [end, ...after])]
    return steps.map((step) => recordStep(recorder, { n }, step))
  })
  t.end()
})

t.test('for any events of assets, groups and verifications, rows equal their oracles', (t) => {
  const shapes = fc.record({
    n: fc.nat(50),
    userId: fc.constantFrom('user_0', 'user_1'),
    groupType: fc.constantFrom('AIGC' as const, 'LivenessFace' as const),
  })
  const of = (steps: object) => anyOf(Object.keys(steps).filter((step) => step !== 'created'))
  const [ofAsset, ofGroup] = [of(assetSteps({ n: 0 })), of(groupSteps({ n: 0 }))]
  agree(t, fc.tuple(shapes, ofAsset), ([shape, steps]) =>
    recordAsset(new Recorder(), shape, 'created', ...(steps as AssetStep[])),
  )
  agree(t, fc.tuple(shapes, ofGroup), ([shape, steps]) =>
    recordGroup(new Recorder(), shape, 'created', ...(steps as GroupStep[])),
  )
  const ofVerification = anyOf(['confirmed', 'expired'] as const, 3)
  agree(t, fc.tuple(shapes, ofVerification), ([shape, steps]) =>
    recordVerification(new Recorder(), shape, 'started', ...steps),
  )
  t.end()
})

t.test('for any events of tenants, users and tokens, rows equal their oracles', (t) => {
  const at = fc.integer({ min: 0, max: 9 }).map((s) => new Date(START_MS + s * 1_000).toISOString())
  const text = fc.string({ maxLength: 5 })
  const may = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
  const tokenId = 'tok_tenant_1'
  const ofToken = fc.oneof(
    fc
      .record({ secretHash: fc.uuid(), lastFour: text, oldValidUntil: at, rotatedAt: at })
      .map((data): AnyEvent => ({ type: 'TokenRotated', data: { tokenId, ...data } })),
    fc
      .record({ limits: fc.record({ requestsPerMinute: fc.nat() }), changedAt: at })
      .map((data): AnyEvent => ({ type: 'TokenLimitsChanged', data: { tokenId, ...data } })),
    fc
      .record({
        name: text,
        models: may(fc.array(text)),
        addresses: may(fc.array(text)),
        expiresAt: may(at),
        updatedAt: at,
      })
      .map((data): AnyEvent => ({ type: 'TokenUpdated', data: { tokenId, ...data } as never })),
    fc
      .record({ disabledAt: at, reason: text })
      .map((data): AnyEvent => ({ type: 'TokenDisabled', data: { tokenId, ...data } as never })),
  )
  const tenantId = 'tenant_1'
  const ofAccount = fc.oneof(
    fc
      .record({ userId: fc.uuid(), name: text, addedAt: at })
      .map((data): AnyEvent => ({ type: 'UserAdded', data: { tenantId, ...data } })),
    fc.record({ name: text, renamedAt: at }).map((data): AnyEvent => ({
      type: 'UserRenamed',
      data: { tenantId, userId: 'user_0', ...data },
    })),
    fc
      .record({ revision: fc.nat(), name: text, setAt: at })
      .map((data): AnyEvent => ({ type: 'TenantNamed', data: { tenantId, ...data } })),
    fc
      .record({
        revision: fc.nat(),
        status: fc.constantFrom('open', 'suspended', 'closed'),
        reason: text,
        since: may(at),
        suspendedUsers: fc.array(fc.record({ userId: text, reason: text })),
        setAt: at,
      })
      .map((data): AnyEvent => ({
        type: 'TenantStatusSet',
        data: { tenantId, ...data } as never,
      })),
    fc
      .record({
        revision: fc.nat(),
        thresholds: fc.array(fc.record({ currency: fc.constant('CNY' as const), below: text })),
        webhookUrl: may(fc.webUrl()),
        secretVersion: fc.nat(),
        setAt: at,
      })
      .map((data): AnyEvent => ({
        type: 'BalanceAlertsSet',
        data: { tenantId, ...data } as never,
      })),
    fc
      .record({ revision: fc.nat(), timeZone: text, budgets: fc.constant<never[]>([]), setAt: at })
      .map((data): AnyEvent => ({ type: 'BudgetsSet', data: { tenantId, ...data } })),
    fc
      .record({ grantId: text, amount: text, reason: text, grantedAt: at })
      .map((data): AnyEvent => ({
        type: 'CreditGranted',
        data: { tenantId, currency: 'CNY', ...data },
      })),
  )
  const ofProposal = fc
    .record({ proposalId: fc.uuid(), end: fc.constantFrom('none', 'approved', 'rejected'), at })
    .map(({ proposalId, end, at }): readonly AnyEvent[] => {
      const terms = { grantId: proposalId, currency: 'CNY', amount: '1', reason: 'r' } as const
      const posting = { kind: 'grant', ...terms } as const
      const by = { tenantId, userId: 'ann', tokenId: 'token_ann' }
      const of = { tenantId, proposalId }
      const times = { proposedAt: at, expiresAt: at }
      return [
        { type: 'PostingProposed', data: { ...of, posting, by, ...times } },
        ...(end === 'approved'
          ? [{ type: 'PostingApproved', data: { ...of, by, approvedAt: at } } as const]
          : []),
        ...(end === 'rejected'
          ? [{ type: 'PostingRejected', data: { ...of, reason: 'no', rejectedAt: at } } as const]
          : []),
      ]
    })
  const record = (stream: string, events: readonly AnyEvent[]): readonly RecordedEvent[] => {
    const recorder = new Recorder()
    const opened = openTenant(recorder, tenantId).filter((event) => event.stream === stream)
    return [...opened, ...events.map((event) => recorder.record(stream, event))]
  }
  agree(t, fc.array(ofToken, { maxLength: 8 }), (events) => record(tokenStream(tokenId), events))
  agree(t, fc.array(ofAccount, { maxLength: 8 }), (events) =>
    record(accountStream(tenantId), events),
  )
  agree(t, fc.array(ofProposal, { maxLength: 4 }), (events) =>
    record(accountStream(tenantId), events.flat()),
  )
  t.end()
})
