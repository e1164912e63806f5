export const tablesSql = `
  create table tenants (
    tenant_id text primary key,
    name text not null,
    opened_at timestamptz not null,
    -- Below what its balances count as low, [{currency, below}], and where it is told of it.
    balance_thresholds jsonb not null default '[]',
    webhook_url text,
    webhook_secret_version integer not null default 1,
    position bigint not null
  );
  create index tenants_thresholds on tenants (tenant_id) where balance_thresholds <> '[]';

  create table users (
    tenant_id text not null,
    user_id text not null,
    name text not null,
    added_at timestamptz not null,
    position bigint not null,
    primary key (tenant_id, user_id)
  );

  create table tokens (
    token_id text primary key,
    tenant_id text not null,
    user_id text not null,
    kind text not null,
    name text not null,
    scope jsonb,
    models text[],
    addresses text[],
    limits jsonb,
    expires_at timestamptz,
    issued_at timestamptz not null,
    rotated_at timestamptz,
    last_four text not null,
    disabled_at timestamptz,
    disabled_reason text,
    position bigint not null
  );
  create index tokens_tenant on tokens (tenant_id, position);

  -- Every secret a token ever had, as SHA-256; rotated ones are valid until a time.
  create table secrets (
    secret_hash text primary key,
    token_id text not null,
    valid_until timestamptz
  );
  create index secrets_token on secrets (token_id);
`
