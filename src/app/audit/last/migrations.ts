import type { Migrations } from '../../../storage/postgres/migrate.ts'

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
