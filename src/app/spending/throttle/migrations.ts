import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const throttleMigrations: Migrations = {
  owner: 'throttle',
  steps: [
    // Databases from before migrations were numbered have this table.
    `
-- What is used of limits per minute, by all replicas together. Written about once a second and worth
-- nothing two minutes later: a crash of Postgres may empty it.
create unlogged table if not exists ops.rate_use (
  token_id text not null,
  measure text not null,
  per_minute double precision not null,
  used double precision not null,
  at timestamptz not null,
  primary key (token_id, measure)
) with (fillfactor = 50);
`,
    `
-- Users and tenants have limits as well as tokens.
alter table ops.rate_use rename column token_id to holder;

-- Calls that each replica has under way of those whose number is limited. Told anew about once a second:
-- a crash of Postgres may empty it.
create unlogged table ops.calls_under_way (
  holder text not null,
  replica text not null,
  calls integer not null,
  told_at timestamptz not null,
  primary key (holder, replica)
) with (fillfactor = 50);
`,
  ],
}
