/** How many sequence numbers a bucket of each level covers, as a shift; level 0 covers all. */
export const COARSE_SHIFT = 15
export const FINE_SHIFT = 10

export const tablesSql = `
  -- A tenant's tasks of one family: a list of its own, numbered without gaps from 0.
  create table scopes (
    scope_id int primary key,
    tenant_id text not null,
    family text not null,
    next_seq bigint not null,
    unique (tenant_id, family)
  ) with (fillfactor = 70);

  create table tasks (
    platform_id text primary key,
    scope_id int not null,
    seq bigint not null,
    tenant_id text not null,
    user_id text not null,
    token_id text not null,
    family text not null,
    surface text not null,
    request_id text not null,
    model text not null,
    channel_id text not null,
    region text not null,
    native_id text,
    submission text not null,
    status text not null,
    hidden boolean not null,
    settled boolean not null,
    -- Neither hidden nor refused: what lists show and counts count.
    visible boolean not null,
    settings jsonb not null,
    output jsonb,
    usage jsonb,
    error jsonb,
    marker text not null,
    marker_is_ours boolean not null,
    requested_at_ms bigint not null,
    updated_at_ms bigint not null,
    observed_at_ms bigint,
    expires_at_ms bigint not null,
    revision bigint not null,
    position bigint not null
  ) with (fillfactor = 80);

  -- Visible tasks per scope, status and model: in all (level 0), per 32,768 (level 1) and per
  -- 1,024 (level 2) sequence numbers. A page at any depth is found by summing few rows.
  create table counts (
    scope_id int not null,
    level smallint not null,
    bucket int not null,
    status text not null,
    model text not null,
    n bigint not null,
    primary key (scope_id, level, bucket, status, model)
  ) with (fillfactor = 60);

  -- Tasks that need asking upstream. When and by whom is operational: no rebuild compares it.
  create table polls (
    platform_id text primary key,
    tenant_id text not null,
    family text not null,
    channel_id text not null,
    native_id text,
    -- poll: by native id; reconcile: the submission has no known outcome; watch: upstream did not
    -- have it, and is asked for a while whether it has it after all. The policy ends a watch, so
    -- no rebuild compares those. make: a worker of ours is to make it; finish: one has begun to,
    -- and holds the lease while it lives.
    kind text not null,
    requested_at_ms bigint not null,
    expires_at_ms bigint not null,
    due_at_ms bigint not null,
    attempts int not null default 0,
    lease_owner text,
    observed_at_ms bigint,
    -- When the first complete list began that certainly had to show it and did not.
    absent_at_ms bigint
  ) with (fillfactor = 60);
  create index polls_due on polls (kind, due_at_ms);
`

export const indexesSql = `
  create index if not exists tasks_native on tasks (native_id) where native_id is not null;
  create index if not exists tasks_open on tasks (token_id) where status in ('queued', 'running');
  create index if not exists tasks_open_owner on tasks (tenant_id, user_id)
    where status in ('queued', 'running');
  create index if not exists tasks_all on tasks (scope_id, seq) where visible;
  create index if not exists tasks_requested on tasks (scope_id, requested_at_ms, platform_id)
    where visible;
  create index if not exists tasks_status on tasks (scope_id, status, seq) where visible;
  create index if not exists tasks_model on tasks (scope_id, model, seq) where visible;
  create index if not exists tasks_status_model on tasks (scope_id, status, model, seq)
    where visible;
`
