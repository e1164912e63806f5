import type { Migrations } from '../../storage/postgres/migrate.ts'

export const taskMigrations: Migrations = {
  owner: 'tasks',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
create table if not exists ops.task_urls (
  platform_id text primary key,
  urls jsonb not null,
  expires_at timestamptz not null
);
create index if not exists task_urls_expiry on ops.task_urls (expires_at);
`,
  ],
}
