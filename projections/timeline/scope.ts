/** Whose events may be seen; an absent member does not narrow. */
export interface TimelineScope {
  readonly tenantId?: string | undefined
  readonly userIds?: readonly string[] | undefined
}

/** The scope as conditions on a table's alias; adds the values it needs. */
export function scopeConditions(
  scope: TimelineScope,
  alias: string,
  values: unknown[],
): readonly string[] {
  const conditions: string[] = []
  if (scope.tenantId !== undefined)
    conditions.push(`${alias}.tenant_id = $${values.push(scope.tenantId)}`)
  if (scope.userIds !== undefined)
    conditions.push(`${alias}.user_id = any($${values.push(scope.userIds)}::text[])`)
  return conditions
}

/** Conditions as the end of a `where`. */
export function conjunctionOf(conditions: readonly string[]): string {
  return conditions.length === 0 ? 'true' : conditions.join(' and ')
}
