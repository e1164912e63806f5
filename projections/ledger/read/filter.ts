/**
 * Filter of lines; an absent member does not filter. `tenantId` and `userIds` are also the scope.
 */
export interface LedgerFilter {
  readonly tenantId?: string | undefined
  readonly userIds?: readonly string[] | undefined
  readonly sku?: string | undefined
  /** External name. */
  readonly model?: string | undefined
  readonly tokenId?: string | undefined
  readonly surface?: string | undefined
  readonly currency?: string | undefined
  /** Platform id of a task or id of a call. */
  readonly sourceId?: string | undefined
  /** Time of settlement: unix milliseconds, inclusive. */
  readonly fromMs?: number | undefined
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number | undefined
  /** Position of the log as of which the ledger is read; absent: the current one. */
  readonly asOf?: bigint | undefined
}

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
  const { tenantId, userIds, sku, model, tokenId, surface, currency } = filter
  return [
    ...(tenantId === undefined ? [] : [`tenant_id = ${parameters.add(tenantId)}`]),
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
  const { sourceId, fromMs, toMs } = filter
  return [
    ...factConditions(filter, parameters),
    ...(sourceId === undefined ? [] : [`source_id = ${parameters.add(sourceId)}`]),
    ...(fromMs === undefined ? [] : [`settled_at >= ${sqlTime(fromMs, parameters)}`]),
    ...(toMs === undefined ? [] : [`settled_at < ${sqlTime(toMs, parameters)}`]),
  ]
}

/** Unix milliseconds as an SQL time. */
export function sqlTime(ms: number, parameters: Parameters): string {
  return `to_timestamp(${parameters.add(ms)}::double precision / 1000)`
}

/** Conditions as the end of a `where`. */
export function conjunction(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}
