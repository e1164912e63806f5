import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/** Records that an audit ended, and its number of findings, for monitoring. */
export async function keepLastAudit(
  db: Queryable,
  report: { readonly findingsInAll: number; readonly position: string },
): Promise<void> {
  await db.query(
    `insert into ops.last_audit (ended_at, findings, position) values (now(), $1, $2)
     on conflict (id) do update
     set ended_at = excluded.ended_at, findings = excluded.findings, position = excluded.position`,
    [report.findingsInAll, report.position],
  )
}

/** Age and number of findings of the last audit. */
export interface LastAudit {
  readonly ageSeconds: number
  readonly findings: number
}

/** The last audit; undefined when none ever ended. */
export async function readLastAudit(db: Queryable): Promise<LastAudit | undefined> {
  // Both times are the database's, so other clocks do not matter.
  const { rows } = await db.query<{ age: number; findings: string }>(
    `select extract(epoch from now() - ended_at)::float8 as age, findings from ops.last_audit`,
  )
  const [row] = rows
  return row && { ageSeconds: Math.max(0, row.age), findings: Number(row.findings) }
}

export const lastAuditMigrations: Migrations = {
  owner: 'last-audit',
  steps: [
    `
-- What the last audit that came to its end found: one row.
create table ops.last_audit (
  id int primary key default 1 check (id = 1),
  ended_at timestamptz not null,
  findings bigint not null,
  position text not null
);
`,
  ],
}
