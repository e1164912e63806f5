-- Accounts of least rights in the database of a gateway. An administrator of the database runs this file before the first
-- `tollgate migrate` and once more after it; it may be run again at any time:
--
--   psql -v ON_ERROR_STOP=1 -f infra/postgres/roles.sql DATABASE
--
-- The administrator sets the passwords (\password). The owner of the tables cannot log in; three accounts can:
--
--   tollgate_projector  processes with the role projector, `tollgate migrate`, and all other commands
--   tollgate_gateway    processes with the roles api and worker alone
--   tollgate_reader     people and programs that read the read models

do $$
begin
  if not exists (select from pg_roles where rolname = 'tollgate_owner') then
    create role tollgate_owner nologin;
  end if;
  if not exists (select from pg_roles where rolname = 'tollgate_projector') then
    create role tollgate_projector login noinherit in role tollgate_owner;
  end if;
  if not exists (select from pg_roles where rolname = 'tollgate_gateway') then
    create role tollgate_gateway login;
  end if;
  if not exists (select from pg_roles where rolname = 'tollgate_reader') then
    create role tollgate_reader login;
  end if;
end $$;

-- What one projector creates belongs to the owner, so that any other may change it.
alter role tollgate_projector set role = 'tollgate_owner';
alter role tollgate_reader set default_transaction_read_only = on;

do $$
declare
  own text := current_database();
begin
  execute format('revoke all on database %I from public', own);
  execute format('grant connect on database %I to tollgate_projector, tollgate_gateway, tollgate_reader', own);
  execute format('grant create on database %I to tollgate_owner', own);
end $$;
revoke all on schema public from public;

-- The gateway's own tables. The reader has no right here: they hold sessions and stored answers.
create schema if not exists ops authorization tollgate_owner;
grant usage on schema ops to tollgate_gateway;
revoke all on schema ops from tollgate_reader;
alter default privileges for role tollgate_owner in schema ops
  grant insert, update, delete on tables to tollgate_gateway;

-- What a later version adds: read models, each a schema, and tables of them.
alter default privileges for role tollgate_owner grant usage on schemas to tollgate_gateway, tollgate_reader;
alter default privileges for role tollgate_owner grant select on tables to tollgate_gateway, tollgate_reader;

-- What is there already.
do $$
declare
  found text;
begin
  for found in
    select nspname from pg_namespace where nspowner = 'tollgate_owner'::regrole and nspname <> 'ops'
  loop
    execute format('grant usage on schema %I to tollgate_gateway, tollgate_reader', found);
    execute format('grant select on all tables in schema %I to tollgate_gateway, tollgate_reader', found);
  end loop;
  grant select, insert, update, delete on all tables in schema ops to tollgate_gateway;
  -- Which migrations were applied is for the owner to say.
  if to_regclass('ops.migrations') is not null then
    revoke insert, update, delete on ops.migrations from tollgate_gateway;
  end if;
  -- Workers lease polls in a read model. A rebuild keeps this right.
  if to_regclass('tasks.polls') is not null then
    grant update on tasks.polls to tollgate_gateway;
  end if;
end $$;
