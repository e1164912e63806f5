import type { PoolClient } from 'pg'
import { fromTimestamp } from '../../src/kernel/clock.ts'
import type { TaskEventData } from '../../src/domain/task/events.ts'
import { jsonColumn, plainColumn, textColumn } from '../engine/columns.ts'
import type { PlacedChange } from './counts.ts'
import { isVisible, type PollKind, pollKind, type Submission, type TaskChange } from './fold.ts'

/** A task is first asked for this long after its submission. */
const FIRST_POLL_DELAY_MS = 1_000
/**
 * A submission without an outcome may still be under way in the process that makes it: it is looked
 * for after most answers have come. To find one that is under way does no harm.
 */
const REQUESTED_DELAY_MS = 8_000
/** One that is known to be uncertain may still be settling upstream. */
const UNCERTAIN_DELAY_MS = 5_000
/** One that was given up had been looked for a moment ago. */
const WATCH_DELAY_MS = 60_000

type Requested = TaskEventData<'TaskRequested'>

/** Inserts the tasks that are new in a batch. */
export async function insertTasks(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  if (placed.length === 0) return
  const rows = placed.flatMap(({ change, scopeId, seq }) =>
    change.requested ? [{ change, scopeId, seq, data: change.requested }] : [],
  )
  const text = (of: (data: Requested) => string | undefined): string =>
    textColumn(rows.map(({ data }) => of(data)))
  const changed = <T>(of: (change: TaskChange) => T): T[] => rows.map(({ change }) => of(change))
  await client.query({
    name: 'tasks.insert',
    text: `insert into tasks
             (platform_id, scope_id, seq, tenant_id, user_id, token_id, family, surface,
              request_id, model, channel_id, region, native_id, submission, status, hidden,
              settled, visible, settings, output, usage, error, marker,
              marker_is_ours, requested_at_ms,
              updated_at_ms, observed_at_ms, expires_at_ms, revision, position)
           select * from unnest(
             $1::text[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
             $14::text[], $15::text[], $16::boolean[], $17::boolean[], $18::boolean[],
             $19::jsonb[], $20::jsonb[], $21::jsonb[], $22::jsonb[], $23::text[],
             $24::boolean[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[],
             $29::bigint[], $30::bigint[])`,
    values: [
      text((data) => data.platformId),
      plainColumn(rows.map(({ scopeId }) => scopeId)),
      plainColumn(rows.map(({ seq }) => seq)),
      text((data) => data.tenantId),
      text((data) => data.userId),
      text((data) => data.tokenId),
      text((data) => data.family),
      text((data) => data.surface),
      text((data) => data.requestId),
      text((data) => data.model),
      textColumn(rows.map(({ data, change }) => change.channelId ?? data.channelId)),
      text((data) => data.region),
      textColumn(changed((change) => change.nativeId)),
      textColumn(changed((change) => change.standing.submission)),
      textColumn(changed((change) => change.standing.status)),
      plainColumn(changed((change) => change.standing.hidden)),
      plainColumn(changed((change) => change.settled ?? false)),
      plainColumn(changed((change) => isVisible(change.standing))),
      jsonColumn(rows.map(({ data }) => data.facts.settings)),
      jsonColumn(changed((change) => change.output)),
      jsonColumn(changed((change) => change.usage)),
      jsonColumn(changed((change) => change.error)),
      text((data) => data.marker),
      plainColumn(rows.map(({ data }) => data.markerIsOurs)),
      plainColumn(rows.map(({ data }) => fromTimestamp(data.requestedAt))),
      plainColumn(
        rows.map(({ data, change }) => change.updatedAtMs ?? fromTimestamp(data.requestedAt)),
      ),
      plainColumn(changed((change) => change.observedAtMs)),
      plainColumn(
        rows.map(({ data, change }) => change.expiresAtMs ?? fromTimestamp(data.expiresAt)),
      ),
      plainColumn(changed((change) => change.revision)),
      plainColumn(changed((change) => change.position)),
    ],
  })
}

/** Updates the tasks that were there before a batch; null leaves a column as it is. */
export async function updateTasks(
  client: PoolClient,
  placed: readonly PlacedChange[],
): Promise<void> {
  if (placed.length === 0) return
  const changed = <T>(of: (change: TaskChange) => T): T[] => placed.map(({ change }) => of(change))
  await client.query({
    name: 'tasks.update',
    text: `update tasks t set
             native_id = coalesce(c.native_id, t.native_id),
             channel_id = coalesce(c.channel_id, t.channel_id),
             submission = c.submission, status = c.status, hidden = c.hidden, visible = c.visible,
             settled = coalesce(c.settled, t.settled), output = coalesce(c.output, t.output),
             usage = coalesce(c.usage, t.usage), error = coalesce(c.error, t.error),
             updated_at_ms = coalesce(c.updated_at_ms, t.updated_at_ms),
             observed_at_ms = coalesce(c.observed_at_ms, t.observed_at_ms),
             expires_at_ms = coalesce(c.expires_at_ms, t.expires_at_ms),
             revision = c.revision, position = c.position
           from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[],
                       $7::boolean[], $8::boolean[], $9::jsonb[], $10::jsonb[], $11::jsonb[],
                       $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[],
                       $16::bigint[])
             as c (platform_id, native_id, channel_id, submission, status, hidden, visible,
                   settled, output, usage, error, updated_at_ms, observed_at_ms,
                   expires_at_ms, revision, position)
           where t.platform_id = c.platform_id`,
    values: [
      textColumn(changed((change) => change.platformId)),
      textColumn(changed((change) => change.nativeId)),
      textColumn(changed((change) => change.channelId)),
      textColumn(changed((change) => change.standing.submission)),
      textColumn(changed((change) => change.standing.status)),
      plainColumn(changed((change) => change.standing.hidden)),
      plainColumn(changed((change) => isVisible(change.standing))),
      plainColumn(changed((change) => change.settled)),
      jsonColumn(changed((change) => change.output)),
      jsonColumn(changed((change) => change.usage)),
      jsonColumn(changed((change) => change.error)),
      plainColumn(changed((change) => change.updatedAtMs)),
      plainColumn(changed((change) => change.observedAtMs)),
      plainColumn(changed((change) => change.expiresAtMs)),
      plainColumn(changed((change) => change.revision)),
      plainColumn(changed((change) => change.position)),
    ],
  })
}

function firstDelayMs(submission: Submission): number {
  if (submission === 'submitted') return FIRST_POLL_DELAY_MS
  if (submission === 'not_accepted') return WATCH_DELAY_MS
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
    if (known && pollKind(known) === kind && known.submission === standing.submission) continue
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
                    -- While its worker lives nobody else has anything to do before the end.
                    case when b.kind = 'finish' then t.expires_at_ms else b.due_at_ms end
             from unnest($1::text[], $2::text[], $3::bigint[]) as b (platform_id, kind, due_at_ms)
             join tasks t on t.platform_id = b.platform_id
             on conflict (platform_id) do update
             set kind = excluded.kind, native_id = excluded.native_id,
                 channel_id = excluded.channel_id, attempts = 0,
                 expires_at_ms = excluded.expires_at_ms,
                 -- Freed before this was read: whoever began it is gone.
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
