/** The schema as every start made it before migrations were numbered. */
export const UNNUMBERED_DDL = `
create schema if not exists ops;

create table if not exists ops.admissions (
  platform_id text primary key,
  tenant_id text not null,
  currency text not null,
  hold numeric(38, 12) not null,
  -- Log position of the TaskRequested that carries the hold, once it is known.
  position bigint,
  admitted_at timestamptz not null default now()
);
alter table ops.admissions add column if not exists token_id text;
drop index if exists ops.admissions_tenant;
-- What is not projected by a position is found without passing what is.
create index if not exists admissions_unprojected
  on ops.admissions (tenant_id, currency, (coalesce(position, 9223372036854775807)));
create index if not exists admissions_age on ops.admissions (admitted_at) where position is null;

create table if not exists ops.task_urls (
  platform_id text primary key,
  urls jsonb not null,
  expires_at timestamptz not null
);
create index if not exists task_urls_expiry on ops.task_urls (expires_at);

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

-- What each replica's text calls speak for of a balance: holds in flight, and settlements that the
-- ledger may lack. Told anew about once a second: a crash of Postgres may empty it.
create unlogged table if not exists ops.text_spending (
  tenant_id text not null,
  currency text not null,
  replica text not null,
  held numeric(38, 12) not null,
  settled numeric(38, 12) not null,
  -- Log position of the last of the settlements; null where one of them has none yet.
  position bigint,
  -- What a replica tells may overtake what it told before: the highest turn counts.
  turn bigint not null,
  told_at timestamptz not null,
  primary key (tenant_id, currency, replica)
) with (fillfactor = 50);

create table if not exists ops.workers (
  owner text primary key,
  seen_at timestamptz not null
);
`
