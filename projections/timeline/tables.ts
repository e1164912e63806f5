/** Of events, those that a request led to: what policies and commands do names no request. */
export const byRequestSql = `metadata->>'correlationId' like 'req\\_%'`

export const tablesSql = `
  -- Whose a task or a token is: events after the first do not all say it. Calls are not here: theirs do.
  create table sources (
    source_id text primary key,
    tenant_id text not null,
    user_id text,
    native_id text,
    position bigint not null
  ) with (fillfactor = 80);

  create table events (
    position bigint primary key,
    tenant_id text not null,
    user_id text,
    -- Platform id, call id or token id; null for events of the account itself.
    source_id text,
    type text not null,
    event_id uuid not null,
    stream text not null,
    revision bigint not null,
    -- When the log recorded it.
    at timestamptz not null,
    -- As text: they are read whole, and taking them apart to store them costs as much as the rest.
    data json not null,
    metadata json not null
  );
`

export const indexesSql = `
  create index if not exists sources_native on sources (native_id) where native_id is not null;
  create index if not exists sources_position on sources (position);
  create index if not exists events_source on events (source_id, position)
    where source_id is not null;
  create index if not exists events_tenant on events (tenant_id, position);
  create index if not exists events_time on events (tenant_id, at, position);
  create index if not exists events_request on events ((metadata->>'correlationId'))
    where ${byRequestSql};
`
