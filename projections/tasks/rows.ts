import type { PoolClient } from 'pg'
import { taskEvents, taskStream } from '../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { fromTimestamp } from '../../src/kernel/clock.ts'
import { plainColumn, textColumn } from '../engine/array-literals.ts'
import type { StreamTable } from '../engine/audited-rows.ts'
import type { Row } from '../engine/column.ts'
import type { PlacedChange } from './counts.ts'
import {
  foldTasks,
  isTaskEvent,
  isVisible,
  type PollKind,
  pollKind,
  type Submission,
} from './fold.ts'
import { polls, tasks } from './tables.ts'

type TableRow = Row<typeof tasks.record.columns>

/** A task is first asked for this long after its submission. */
const FIRST_POLL_DELAY_MS = 1_000
/**
 * A submission without an outcome may still be under way in the process that makes it: it is looked
 * for after most answers have come. To find one that is under way does no harm.
 */
const REQUESTED_DELAY_MS = 8_000
/** A submission that is known to be uncertain may still be in progress upstream. */
const UNCERTAIN_DELAY_MS = 5_000
/** A task that was given up had been searched for a moment ago. */
const WATCH_DELAY_MS = 60_000

/** The row of a new task; undefined where the change is of one that is known. */
function newRow({ change, scopeId, seq }: Omit<PlacedChange, 'model'>): TableRow | undefined {
  const { requested: data, standing } = change
  if (data === undefined) return undefined
  const requestedAtMs = fromTimestamp(data.requestedAt)
  return {
    platformId: data.platformId,
    scopeId,
    seq,
    tenantId: data.tenantId,
    userId: data.userId,
    tokenId: data.tokenId,
    family: data.family,
    surface: data.surface,
    requestId: data.requestId,
    model: data.model,
    channelId: change.channelId ?? data.channelId,
    region: data.region,
    nativeId: change.nativeId,
    submission: standing.submission,
    status: standing.status,
    hidden: standing.hidden,
    settled: change.settled ?? false,
    visible: isVisible(standing),
    settings: data.facts.settings,
    output: change.output,
    usage: change.usage,
    error: change.error,
    marker: data.marker,
    markerIsOurs: data.markerIsOurs,
    requestedAtMs,
    updatedAtMs: change.updatedAtMs ?? requestedAtMs,
    observedAtMs: change.observedAtMs,
    awaitingUsageAtMs: change.awaitingUsageAtMs,
    expiresAtMs: change.expiresAtMs ?? fromTimestamp(data.expiresAt),
    revision: change.revision,
    position: change.position,
  }
}

/** Inserts the tasks that are new in a batch. */
export async function insertTasks(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  await tasks.insert(
    client,
    placed.flatMap((one) => newRow(one) ?? []),
  )
}

const changeTasks = tasks.merging('update', [
  'native_id',
  'channel_id',
  'submission',
  'status',
  'hidden',
  'visible',
  'settled',
  'output',
  'usage',
  'error',
  'updated_at_ms',
  'observed_at_ms',
  'awaiting_usage_at_ms',
  'expires_at_ms',
  'revision',
  'position',
])

/** Updates the tasks that were there before a batch. */
export async function updateTasks(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  const rows = placed.map(({ change }) => ({
    platformId: change.platformId,
    nativeId: change.nativeId,
    channelId: change.channelId,
    submission: change.standing.submission,
    status: change.standing.status,
    hidden: change.standing.hidden,
    visible: isVisible(change.standing),
    settled: change.settled,
    output: change.output,
    usage: change.usage,
    error: change.error,
    updatedAtMs: change.updatedAtMs,
    observedAtMs: change.observedAtMs,
    awaitingUsageAtMs: change.awaitingUsageAtMs,
    expiresAtMs: change.expiresAtMs,
    revision: change.revision,
    position: change.position,
  }))
  await changeTasks(client, rows)
}

function firstDelayMs(submission: Submission): number {
  if (submission === 'submitted') return FIRST_POLL_DELAY_MS
  if (submission === 'not_accepted' || submission === 'given_up') return WATCH_DELAY_MS
  if (submission === 'waiting') return 0
  return submission === 'uncertain' ? UNCERTAIN_DELAY_MS : REQUESTED_DELAY_MS
}

/** Puts tasks that now need asking upstream into the schedule, and takes out those that do not. */
export async function writePolls(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  const ended: string[] = []
  const begun: { id: string; kind: PollKind; dueAtMs: number }[] = []
  for (const { change } of placed) {
    const { known, standing } = change
    const kind = pollKind(standing)
    const isSame = known && pollKind(known) === kind && known.submission === standing.submission
    // An event may have named the id upstream although the task is asked for as before.
    if (isSame && change.nativeId === undefined) continue
    if (!known && kind === undefined) continue
    if (kind === undefined) ended.push(change.platformId)
    else
      begun.push({
        id: change.platformId,
        kind,
        dueAtMs: change.pollableSinceMs + firstDelayMs(standing.submission),
      })
  }
  if (ended.length > 0)
    await client.query({
      name: 'tasks.polls.end',
      text: 'delete from polls where platform_id = any($1::text[])',
      values: [textColumn(ended)],
    })
  if (begun.length > 0)
    await client.query({
      name: 'tasks.polls.begin',
      text: `insert into polls (platform_id, tenant_id, family, channel_id, native_id, kind,
                                requested_at_ms, expires_at_ms, due_at_ms)
             select t.platform_id, t.tenant_id, t.family, t.channel_id, t.native_id, b.kind,
                    t.requested_at_ms, t.expires_at_ms,
                    -- While its worker lives no other process works on it before it expires.
                    case when b.kind = 'finish' then t.expires_at_ms else b.due_at_ms end
             from unnest($1::text[], $2::text[], $3::bigint[]) as b (platform_id, kind, due_at_ms)
             join tasks t on t.platform_id = b.platform_id
             on conflict (platform_id) do update
             set kind = excluded.kind, native_id = excluded.native_id,
                 channel_id = excluded.channel_id, attempts = 0,
                 expires_at_ms = excluded.expires_at_ms,
                 -- Freed before this was read: the process that began it is gone.
                 due_at_ms = case when polls.kind = 'make' and excluded.kind = 'finish'
                                       and polls.lease_owner is null
                                  then excluded.requested_at_ms else excluded.due_at_ms end,
                 lease_owner = case when polls.kind = 'make' and excluded.kind = 'finish'
                                    then polls.lease_owner end`,
      values: [
        textColumn(begun.map(({ id }) => id)),
        textColumn(begun.map(({ kind }) => kind)),
        plainColumn(begun.map(({ dueAtMs }) => dueAtMs)),
      ],
    })
}

/** The number of a task in its list comes from the order of all tasks, not from its stream. */
const PLACE: ReadonlySet<string> = new Set(['scope_id', 'seq'])

/** The row that all events of a task leave, and how it has to be asked for. */
function foldedRow(events: readonly RecordedEvent[]) {
  const [change] = foldTasks(events.filter(isTaskEvent), new Map())
  const row = change && newRow({ change, scopeId: 0, seq: 0n })
  return row && { row, kind: pollKind(change.standing) }
}

const ofTask = {
  stream: taskStream,
  owner: 'platform_id',
  key: 'platform_id',
  types: new Set(Object.keys(taskEvents)),
}

/** The rows of tasks and polls that an audit compares, stream by stream. */
export const taskStreamTables: readonly StreamTable[] = [
  {
    ...ofTask,
    table: tasks.audited,
    rows: (events) => {
      const folded = foldedRow(events)
      return new Map(folded && [[folded.row.platformId, tasks.canonical(folded.row, PLACE)]])
    },
    // Found where tasks are numbered.
    mayLack: () => true,
  },
  {
    ...ofTask,
    table: polls.audited,
    rows: (events) => {
      const { row, kind } = foldedRow(events) ?? {}
      return new Map(row && kind && [[row.platformId, polls.canonical({ ...row, kind })]])
    },
    // A policy ends a watch.
    mayLack: ({ kind }) => kind === 'watch',
  },
]
