import type { PoolClient } from 'pg'
import { allSettledOrThrow } from '../../src/kernel/all-settled.ts'
import { taskEvents, type TaskEventType } from '../../src/domain/task/events.ts'
import type { RecordedEvent } from '../../src/eventlog/log/types.ts'
import { textColumn } from '../engine/array-literals.ts'
import { fromTables } from '../engine/read-model.ts'
import type { Projection } from '../engine/types.ts'
import { writeTaskCounts } from './counts.ts'
import { foldTasks, isTaskEvent, type KnownTask, type Submission, type TaskStatus } from './fold.ts'
import { insertTasks, taskStreamTables, updateTasks, writePolls } from './rows.ts'
import { placeTasks } from './scopes.ts'
import { taskCounts, polls, scopes, tasks } from './tables.ts'

interface KnownRow {
  readonly platform_id: string
  readonly scope_id: number
  readonly seq: string
  readonly model: string
  readonly submission: Submission
  readonly status: TaskStatus
  readonly hidden: boolean
}

async function loadKnown(
  client: PoolClient,
  platformIds: readonly string[],
): Promise<ReadonlyMap<string, KnownTask>> {
  const { rows } = await client.query<KnownRow>({
    name: 'tasks.known',
    text: `select platform_id, scope_id, seq, model, submission, status, hidden
           from tasks where platform_id = any($1::text[])`,
    values: [textColumn(platformIds)],
  })
  return new Map(
    rows.map((row) => [
      row.platform_id,
      {
        scopeId: row.scope_id,
        seq: BigInt(row.seq),
        model: row.model,
        submission: row.submission,
        status: row.status,
        hidden: row.hidden,
      },
    ]),
  )
}

async function apply(client: PoolClient, batch: readonly RecordedEvent[]): Promise<void> {
  const events = batch.filter(isTaskEvent)
  const known = await loadKnown(client, [...new Set(events.map(({ data }) => data.platformId))])
  const placed = await placeTasks(client, foldTasks(events, known))
  const isNew = ({ change }: (typeof placed)[number]): boolean => change.known === undefined
  await allSettledOrThrow([
    insertTasks(client, placed.filter(isNew)),
    updateTasks(
      client,
      placed.filter((one) => !isNew(one)),
    ),
    writeTaskCounts(client, placed),
    writePolls(client, placed),
  ])
}

/** A row per asynchronous task of every family, counts for lists by depth, the poll schedule. */
export const tasksProjection: Projection = {
  name: 'tasks',
  version: 8,
  ...fromTables(
    { scopes, tasks, counts: taskCounts, polls },
    {
      totals: `select status as name, sum(n)::text as total from counts where level = 0
       group by status having sum(n) <> 0 order by status`,
    },
  ),
  handles: new Set(Object.keys(taskEvents) as TaskEventType[]),
  apply,
  streamTables: taskStreamTables,
}
