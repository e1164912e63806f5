/** Conditions of look-ups by the beginning of an id, for support. */

/** Owners whose records may be found; an absent member does not filter. */
export interface SearchScope {
  readonly tenantId?: string | undefined
  readonly userIds?: readonly string[] | undefined
}

/** Adds a value to a statement and gives its placeholder. */
export type AddValue = (value: unknown) => string

/** The most ids of one beginning that a statement reads, of the owners that it is asked for. */
export const MAX_IDS_READ = 5_000

/**
 * The ids that begin so, for a column in the order of bytes (`id()` of `column.ts`). The beginning is of
 * printable ASCII, not empty.
 */
export function beginsSql(column: string, beginning: string, add: AddValue): string {
  const last = beginning.length - 1
  const end = beginning.slice(0, last) + String.fromCharCode(beginning.charCodeAt(last) + 1)
  return `${column} >= ${add(beginning)}::text collate "C" and ${column} < ${add(end)}::text collate "C"`
}

/** The rows of these owners. */
export function scopeSql({ tenantId, userIds }: SearchScope, add: AddValue): string {
  const conditions = [
    ...(tenantId === undefined ? [] : [`tenant_id = ${add(tenantId)}`]),
    ...(userIds === undefined ? [] : [`user_id = any(${add(userIds)}::text[])`]),
  ]
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}
