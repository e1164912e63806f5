import type { Queryable } from '../engine/queryable.ts'

/** A task whose submission has no known outcome. */
export interface OpenSubmission {
  readonly platformId: string
  readonly channelId: string
  readonly model: string
}

/** Tasks of a family sent, or about to be sent, with a marker or any, whose outcome is not known. */
export async function findOpenSubmissions(
  db: Queryable,
  key: { readonly family: string; readonly marker?: string; readonly limit: number },
): Promise<readonly OpenSubmission[]> {
  const { rows } = await db.query<{ platform_id: string; channel_id: string; model: string }>({
    name: 'tasks.submissions.open',
    text: `select t.platform_id, t.channel_id, t.model
           from tasks.polls p join tasks.tasks t on t.platform_id = p.platform_id
           where p.kind = 'reconcile' and t.family = $1 and ($2::text is null or t.marker = $2)
           order by t.platform_id limit $3`,
    values: [key.family, key.marker ?? null, key.limit],
  })
  return rows.map((row) => ({
    platformId: row.platform_id,
    channelId: row.channel_id,
    model: row.model,
  }))
}

/**
 * Finds the native ids among these that belong to a task of the gateway, including hidden and
 * refused ones, and the marker each was sent with.
 */
export async function findKnownNativeIds(
  db: Queryable,
  family: string,
  nativeIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (nativeIds.length === 0) return new Map()
  const { rows } = await db.query<{ native_id: string; marker: string }>({
    name: 'tasks.submissions.known',
    text: `select native_id, marker from tasks.tasks
           where native_id = any($2::text[]) and family = $1`,
    values: [family, nativeIds],
  })
  return new Map(rows.map((row) => [row.native_id, row.marker]))
}

/** A task, and the channel it was sent through. */
interface SubmittedTask {
  readonly platformId: string
  readonly channelId: string
}

/**
 * A task with a native id, and the tasks of its family with the same one: itself first, then those
 * requested first. Empty if the task does not have the id.
 */
export async function tasksOfOneNativeId(
  db: Queryable,
  key: { readonly platformId: string; readonly nativeId: string; readonly limit: number },
): Promise<readonly SubmittedTask[]> {
  const { rows } = await db.query<{ platform_id: string; channel_id: string }>({
    name: 'tasks.submissions.sharing',
    text: `select t.platform_id, t.channel_id
           from tasks.tasks own
           join tasks.tasks t on t.native_id = own.native_id and t.family = own.family
           where own.platform_id = $1 and own.native_id = $2
           order by t.platform_id = own.platform_id desc, t.requested_at_ms, t.platform_id limit $3`,
    values: [key.platformId, key.nativeId, key.limit],
  })
  return rows.map((row) => ({ platformId: row.platform_id, channelId: row.channel_id }))
}

/** Two settled tasks of one native id. */
interface SettledTwin {
  readonly platformId: string
  readonly channelId: string
  readonly nativeId: string
  /** The second task that has this native id. */
  readonly other: string
  readonly position: bigint
}

/** Tasks changed after a position whose native id another settled task has as well. */
export async function settledTwins(
  db: Queryable,
  { after, limit }: { readonly after: bigint; readonly limit: number },
): Promise<readonly SettledTwin[]> {
  const { rows } = await db.query<{
    platform_id: string
    channel_id: string
    native_id: string
    other: string
    position: string
  }>(
    `select t.platform_id, t.channel_id, t.native_id, o.platform_id as other, t.position::text
     from tasks.tasks t
     join tasks.tasks o on o.native_id = t.native_id and o.channel_id = t.channel_id
       and o.family = t.family and o.settled and o.position < t.position
     where t.settled and t.position > $1
     order by t.position, o.position limit $2`,
    [after, limit],
  )
  return rows.map((row) => ({
    platformId: row.platform_id,
    channelId: row.channel_id,
    nativeId: row.native_id,
    other: row.other,
    position: BigInt(row.position),
  }))
}
