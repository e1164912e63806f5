import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const secretMigrations: Migrations = {
  owner: 'secret',
  steps: [
    `
create table if not exists ops.marker_secret (
  sole boolean primary key default true check (sole),
  -- A keyed hash: whoever reads it cannot tell the secret.
  fingerprint text not null,
  noted_at timestamptz not null default now()
);
`,
  ],
}
