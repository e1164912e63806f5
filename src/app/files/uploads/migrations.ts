import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const uploadMigrations: Migrations = {
  owner: 'uploads',
  steps: [
    `
-- Uploads on their way, those that the read models may not know yet, and pictures of tasks that wait.
-- Everything else that a tenant keeps is counted from the read models.
create table ops.upload_reservations (
  upload_id text primary key,
  tenant_id text not null,
  size_bytes bigint not null,
  -- Of a process that died: nothing is counted any longer than this.
  expires_at timestamptz not null
);
create index upload_reservations_tenant on ops.upload_reservations (tenant_id);
`,
  ],
}
