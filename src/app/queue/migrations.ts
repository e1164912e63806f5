import type { Migrations } from '../../storage/postgres/migrate.ts'

export const workerMigrations: Migrations = {
  // The name under which databases have applied them.
  owner: 'tasks/watch',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
create table if not exists ops.workers (
  owner text primary key,
  seen_at timestamptz not null
);
`,
  ],
}
