import { isSampledSql } from './tables.ts'

/**
 * Positions of the log for a time. No index is of the times of all tenants' events: theirs lie between two events of
 * the index of samples.
 */

/** A tenant, by SQL, or all of them. */
type Of = 'all' | { readonly tenantId: string }

const ofSql = (of: Of): string =>
  of === 'all' ? isSampledSql('position') : `tenant_id = ${of.tenantId}`

/** A position that each event since a time is after; `at` is SQL. */
export const beforeSql = (of: Of, at: string): string =>
  `coalesce((select position from timeline.events where ${ofSql(of)} and at < ${at}
             order by at desc, position desc limit 1), -1)`

/** A position that no event before a time is after; null: the time is after all of them. */
export const untilSql = (of: Of, at: string): string =>
  of === 'all'
    ? `(select position from timeline.events where ${ofSql(of)} and at >= ${at} order by at, position limit 1)`
    : `(select position from timeline.events where ${ofSql(of)} and at < ${at}
        order by at desc, position desc limit 1)`
