/** A file that was deleted stays as a row: what was kept of it is known to be needed no more. */
export const tablesSql = `
  create table files (
    file_id text primary key,
    tenant_id text not null,
    user_id text not null,
    token_id text not null,
    purpose text not null,
    filename text not null,
    size_bytes bigint not null,
    uploaded_at timestamptz not null,
    deleted_at timestamptz,
    expires_at timestamptz,
    -- Of its upload: the order of lists.
    position bigint not null
  );
`

export const indexesSql = `
  create index if not exists files_tenant on files (tenant_id, position);
`
