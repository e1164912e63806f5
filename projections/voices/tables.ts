/** Files that providers keep for tenants, and the voices made of them. */
export const tablesSql = `
  create table uploads (
    file_id text primary key,
    tenant_id text not null,
    user_id text not null,
    token_id text not null,
    channel_id text not null,
    upstream_file_id text not null,
    purpose text not null,
    filename text not null,
    size_bytes bigint not null,
    uploaded_at timestamptz not null,
    expires_at timestamptz,
    position bigint not null
  );

  create table voices (
    -- Tenant and name: two tenants may use one name.
    voice_key text primary key,
    tenant_id text not null,
    user_id text not null,
    token_id text not null,
    voice_id text not null,
    -- The request that cloned it last, as all that follows.
    request_id text not null,
    channel_id text not null,
    upstream_voice_id text not null,
    source_file_id text not null,
    cloned_at timestamptz not null,
    position bigint not null
  );
`
