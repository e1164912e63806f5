import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const lastUseMigrations: Migrations = {
  owner: 'last-uses',
  steps: [
    `
create table ops.token_uses (
  token_id text primary key,
  used_at timestamptz not null
) with (fillfactor = 70);
`,
  ],
}
