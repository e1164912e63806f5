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
 * Which of these native ids belong to a task of the gateway, hidden and refused ones too, and the
 * marker it was sent with.
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
