/**
 * Filter of lines; an absent member does not filter. `tenantId` and `userIds` are also the scope.
 */
export interface LedgerFilter {
  readonly tenantId?: string | undefined
  /** Any of these tenants. */
  readonly tenantIds?: readonly string[] | undefined
  readonly userIds?: readonly string[] | undefined
  readonly sku?: string | undefined
  /** External name. */
  readonly model?: string | undefined
  readonly tokenId?: string | undefined
  readonly surface?: string | undefined
  readonly currency?: string | undefined
  /** Platform id of a task or id of a call. */
  readonly sourceId?: string | undefined
  readonly requestId?: string | undefined
  /** Tags that a line has, all of them: names and values. */
  readonly tags?: readonly (readonly [name: string, value: string])[] | undefined
  readonly endUser?: string | undefined
  /** Time of settlement: unix milliseconds, inclusive. */
  readonly fromMs?: number | undefined
  /** Lines dated before `fromMs` count as well where they were posted after this position of the log. */
  readonly lateAfter?: bigint | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number | undefined
  /** Position of the log as of which the ledger is read; absent: the current one. */
  readonly asOf?: bigint | undefined
  /** Position of the log after which it was posted. */
  readonly since?: bigint | undefined
}

/** Whether a filter asks for what only lines have, and no totals. */
export function isOfLines({ sourceId, requestId, tags, endUser, since }: LedgerFilter): boolean {
  return [sourceId, requestId, endUser, since, tags?.[0]].some((member) => member !== undefined)
}

/** The value of a tag, as SQL, by the placeholder of its name and the column of a line's tags. */
export const tagSql = (name: string, column = 'tags'): string => `(${column}::jsonb ->> ${name})`

/** Parameters of a statement as they are collected. */
export class Parameters {
  readonly values: unknown[] = []

  /** Adds a value and gives its placeholder. */
  add(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length}`
  }
}

/** Conditions both on lines and on daily totals: everything but source and time. */
export function factConditions(filter: LedgerFilter, parameters: Parameters): readonly string[] {
  const { tenantId, tenantIds, userIds, sku, model, tokenId, surface, currency } = filter
  return [
    ...(tenantId === undefined ? [] : [`tenant_id = ${parameters.add(tenantId)}`]),
    ...(tenantIds === undefined ? [] : [`tenant_id = any(${parameters.add(tenantIds)}::text[])`]),
    ...(userIds === undefined ? [] : [userCondition(userIds, parameters)]),
    ...(sku === undefined ? [] : [`sku = ${parameters.add(sku)}`]),
    ...(model === undefined ? [] : [`model = ${parameters.add(model)}`]),
    ...(tokenId === undefined ? [] : [`token_id = ${parameters.add(tokenId)}`]),
    ...(surface === undefined ? [] : [`surface = ${parameters.add(surface)}`]),
    ...(currency === undefined ? [] : [`currency = ${parameters.add(currency)}`]),
  ]
}

/** A single user is compared with `=`: its lines are then read in their order. */
function userCondition(userIds: readonly string[], parameters: Parameters): string {
  return userIds.length === 1
    ? `user_id = ${parameters.add(userIds[0])}`
    : `user_id = any(${parameters.add(userIds)}::text[])`
}

/** Conditions on lines: all of the filter. */
export function lineConditions(filter: LedgerFilter, parameters: Parameters): readonly string[] {
  const { asOf } = filter
  return [
    ...timedConditions(filter, parameters),
    ...(asOf === undefined ? [] : [`position <= ${parameters.add(asOf)}::bigint`]),
  ]
}

/** Conditions on lines that came after the position the filter is as of: all but that one. */
export function laterConditions(
  filter: LedgerFilter & { readonly asOf: bigint },
  parameters: Parameters,
): readonly string[] {
  const later = `position > ${parameters.add(filter.asOf)}::bigint`
  return [...timedConditions(filter, parameters), later]
}

function timedConditions(filter: LedgerFilter, parameters: Parameters): readonly string[] {
  const { sourceId, requestId, tags = [], endUser, since, toMs } = filter
  return [
    ...factConditions(filter, parameters),
    ...(sourceId === undefined ? [] : [`source_id = ${parameters.add(sourceId)}`]),
    ...(requestId === undefined ? [] : [`request_id = ${parameters.add(requestId)}`]),
    ...tags.map(([name, value]) => `${tagSql(parameters.add(name))} = ${parameters.add(value)}`),
    ...(endUser === undefined ? [] : [`end_user = ${parameters.add(endUser)}`]),
    ...(since === undefined ? [] : [`position > ${parameters.add(since)}::bigint`]),
    ...beginConditions(filter, parameters),
    ...(toMs === undefined ? [] : [`settled_at < ${sqlTime(toMs, parameters)}`]),
  ]
}

function beginConditions(
  { fromMs, lateAfter }: LedgerFilter,
  parameters: Parameters,
): readonly string[] {
  if (fromMs === undefined) return []
  const begins = `settled_at >= ${sqlTime(fromMs, parameters)}`
  if (lateAfter === undefined) return [begins]
  return [`(${begins} or position > ${parameters.add(lateAfter)}::bigint)`]
}

/** Unix milliseconds as an SQL time. */
export function sqlTime(ms: number, parameters: Parameters): string {
  return `to_timestamp(${parameters.add(ms)}::double precision / 1000)`
}

/** Conditions as the end of a `where`. */
export function conjunction(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}
