import { lineColumnsSql } from './line.ts'

/** What the lines of a tenant come to in a stretch of time: UTC days, hours, quarters of an hour. */
function periodTableSql(name: string, stretch: string): string {
  const [column = ''] = stretch.split(' ')
  return `create table ${name} (
    tenant_id text not null,
    ${stretch} not null,
    currency text not null,
    sku text not null,
    unit text not null,
    model text not null,
    user_id text not null,
    token_id text not null,
    surface text not null,
    lines bigint not null,
    quantity numeric(38, 0) not null,
    amount numeric(38, 12) not null,
    primary key (tenant_id, ${column}, currency, sku, unit, model, user_id, token_id, surface)
  ) with (fillfactor = 70);`
}

export const tablesSql = `
  -- Head of the hash chain over the lines: one row.
  create table chain (
    id int primary key check (id = 1),
    seq bigint not null,
    hash bytea not null
  ) with (fillfactor = 10);
  insert into chain values (1, 0, decode(repeat('00', 32), 'hex'));

  create table lines (
    -- 1, 2, 3, … in the order of the log.
    seq bigint primary key,
    ${lineColumnsSql}
    -- SHA-256 of the previous line's hash and this line's canonical bytes (chain.ts).
    hash bytea not null
  );

  -- One row per settled result, also of one without lines: a second settlement of a source cannot be.
  create table settlements (
    source_id text primary key,
    tenant_id text not null,
    currency text not null,
    amount numeric(38, 12) not null,
    lines int not null,
    position bigint not null
  );

  -- Double entry: each moves an amount from one account of a tenant to another, so every currency
  -- sums to zero by construction.
  create table entries (
    position bigint not null,
    n int not null,
    kind text not null,
    source_id text not null,
    tenant_id text not null,
    currency text not null,
    debit text not null,
    credit text not null,
    amount numeric(38, 12) not null check (amount > 0),
    primary key (position, n)
  );
  create view postings as
    select position, n, kind, source_id, tenant_id, currency, debit as account, amount from entries
    union all
    select position, n, kind, source_id, tenant_id, currency, credit, -amount from entries;

  -- Corrections of lines or grants; a line itself never changes.
  create table adjustments (
    position bigint primary key,
    adjustment_id text not null,
    tenant_id text not null,
    currency text not null,
    -- Positive gives to the tenant.
    amount numeric(38, 12) not null,
    line_id text,
    grant_id text,
    reason text not null,
    actor text,
    posted_at timestamptz not null,
    check (num_nonnulls(line_id, grant_id) = 1)
  );

  create table holds (
    source_id text primary key,
    tenant_id text not null,
    currency text not null,
    amount numeric(38, 12) not null,
    state text not null check (state in ('placed', 'captured', 'released')),
    placed_at timestamptz not null,
    closed_at timestamptz,
    position bigint not null
  ) with (fillfactor = 80);

  create table balances (
    tenant_id text not null,
    currency text not null,
    granted numeric(38, 12) not null,
    adjusted numeric(38, 12) not null,
    credit_limit numeric(38, 12) not null,
    settled numeric(38, 12) not null,
    held numeric(38, 12) not null,
    position bigint not null,
    primary key (tenant_id, currency)
  ) with (fillfactor = 50);

  -- What everything sums to, over all tenants: a few rows, for those who watch and must not read it all.
  create table totals (
    kind text not null check (kind in ('settled', 'estimated', 'held', 'account')),
    currency text not null,
    -- Surface of settled and of estimated lines, name of an account; '' of holds that are placed.
    part text not null,
    n bigint not null,
    amount numeric(38, 12) not null,
    primary key (kind, currency, part)
  ) with (fillfactor = 10);

  -- Credit that was given, with what was said of it and when.
  create table grants (
    position bigint primary key,
    grant_id text not null,
    tenant_id text not null,
    currency text not null,
    amount numeric(38, 12) not null,
    reason text not null,
    actor text,
    granted_at timestamptz not null
  );

  ${periodTableSql('days', 'day date')}
  -- Of these the days of any time zone can be put together: its clock is whole quarters from UTC. Whole
  -- hours are there so that few rows are read for it.
  ${periodTableSql('hours', 'hour timestamptz')}
  ${periodTableSql('quarters', 'quarter timestamptz')}
`

export const indexesSql = `
  create unique index if not exists lines_id on lines (line_id);
  create index if not exists lines_tenant on lines (tenant_id, settled_at, seq);
  create index if not exists lines_sku on lines (tenant_id, sku, settled_at, seq);
  create index if not exists lines_model on lines (tenant_id, model, settled_at, seq);
  create index if not exists lines_currency on lines (tenant_id, currency, settled_at, seq);
  -- A user is of one tenant; some tokens name users alone.
  create index if not exists lines_user on lines (user_id, settled_at, seq);
  create index if not exists lines_time on lines (settled_at, seq);
  create index if not exists lines_position on lines (position);
  create index if not exists lines_source on lines (source_id);
  create index if not exists lines_request on lines (request_id);
  create index if not exists settlements_position on settlements (position);
  create index if not exists entries_source on entries (source_id);
  create index if not exists adjustments_line on adjustments (line_id) where line_id is not null;
  create index if not exists adjustments_tenant on adjustments (tenant_id, position);
  create index if not exists grants_tenant on grants (tenant_id, position);
  create index if not exists holds_open on holds (tenant_id) where state = 'placed';
`
