import type { Queryable } from '../../../projections/engine/queryable.ts'
import type { Migrations } from '../../storage/postgres/migrate.ts'

/** Keeps that an audit came to its end, and what it found, for those who watch. */
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

/** How long ago an audit last came to its end, and how much it found. */
export interface LastAudit {
  readonly ageSeconds: number
  readonly findings: number
}

/** The last audit; undefined when none ever came to its end. */
export async function readLastAudit(db: Queryable): Promise<LastAudit | undefined> {
  // Both times are the database's: what other clocks say does not matter.
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
