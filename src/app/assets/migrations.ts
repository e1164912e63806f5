import type { Migrations } from '../../storage/postgres/migrate.ts'

export const assetMigrations: Migrations = {
  owner: 'assets',
  steps: [
    // When each thing of the library is worked on next; what it is stands in the read model.
    `
create table ops.asset_work (
  id text primary key,
  due_at_ms bigint not null,
  attempts integer not null
);
`,
    // To whom it is leased, and at which account. A release that knows of neither leaves both out.
    `
alter table ops.asset_work add column channel_id text not null default '', add column lease_owner text;
`,
  ],
}
