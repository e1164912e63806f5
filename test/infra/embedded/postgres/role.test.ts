import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { notRoot } from '../../../helpers/requirements.ts'
import { folder, query, supervise } from './harness.ts'

/** One cluster for all: making it is the slow part. */
const root = folder(t)

/** The superuser's address, as releases before this one gave it to the gateway. */
function superuserUrl(url: string): string {
  const superuser = new URL(url)
  superuser.username = 'tollgate'
  superuser.password = readFileSync(join(root, 'password'), 'utf8').trim()
  return superuser.href
}

t.test('the gateway’s role owns its database and has no right outside it', async (t) => {
  const child = supervise(t, root)
  const { url } = await child.ready
  await query(url, 'create schema mine; create table mine.t (n int); drop schema mine cascade')
  t.strictSame(
    await query(
      url,
      `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls
       from pg_roles where rolname = current_user`,
    ),
    [
      {
        rolsuper: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolreplication: false,
        rolbypassrls: false,
      },
    ],
  )
  for (const statement of [
    `copy (select 1) to program 'cat'`,
    `select pg_read_file('/etc/passwd')`,
    `alter system set fsync = off`,
    'create role other superuser',
    'create database other',
    'set role tollgate',
    `alter role gateway superuser`,
    `select rolpassword from pg_authid`,
  ])
    await t.rejects(query(url, statement), { code: '42501' }, statement)
  t.strictSame(await query(url, 'show listen_addresses'), [{ listen_addresses: '' }])
  await child.stop()
})

t.test('objects of an earlier release’s superuser are given to the gateway’s role', async (t) => {
  const first = supervise(t, root)
  const { url } = await first.ready
  await query(
    superuserUrl(url),
    `create schema "Ledger next";
     create table "Ledger next"."Lines" (id bigint generated always as identity, n serial);
     create table parts (n int) partition by range (n);
     create table parts_1 partition of parts for values from (0) to (10);
     create sequence alone;
     create view seen as select * from parts;
     create type mood as enum ('good');
     create function two(int) returns int language sql as 'select 2';
     insert into parts values (3);
     alter database tollgate owner to tollgate`,
  )
  await t.rejects(query(url, 'select * from parts'), { code: '42501' })
  await first.stop()
  // Earlier releases listened on a port; so said the file that was then written.
  writeFileSync(join(root, 'cluster', 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n')
  chmodSync(join(root, 'cluster', 'pg_hba.conf'), 0o644)

  const second = supervise(t, root)
  t.equal((await second.ready).url, url)
  t.strictSame(await query(url, 'select n from seen'), [{ n: 3 }])
  await query(
    url,
    `alter table parts add column more int; alter table parts_1 alter column more set default 1;
     alter schema "Ledger next" rename to ledger; drop table ledger."Lines"; drop sequence alone;
     drop view seen; drop function two(int); drop type mood; drop table parts; drop schema ledger`,
  )
  t.equal(lstatSync(join(root, 'cluster', 'pg_hba.conf')).mode & 0o777, 0o600)
  await second.stop()
})

const accounts = readFileSync('/etc/passwd', 'utf8')
const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(accounts)
const skip = notRoot || (nobody === null && 'there is no account nobody (useradd --system nobody)')
t.test('data of the shared account is given to another, where one exists', { skip }, async (t) => {
  const cluster = join(root, 'cluster')
  const names = readdirSync(cluster, { recursive: true }) as string[]
  for (const name of ['', ...names])
    chownSync(join(cluster, name), Number(nobody?.[1]), Number(nobody?.[2]))
  const lines: string[] = []
  const child = supervise(t, root, { log: (_level, line) => lines.push(line) })
  const { url } = await child.ready
  t.strictSame(await query(url, 'select 1 as n'), [{ n: 1 }])
  const isShared = lstatSync(cluster).uid === Number(nobody?.[1])
  const another = /^(tollgate|postgres|_postgres):/m.test(accounts)
  t.equal(isShared, !another)
  t.equal(lines.join('\n').includes('postgres runs as nobody'), !another)
  await child.stop()
  const owners = names.flatMap(
    (name) => lstatSync(join(cluster, name), { throwIfNoEntry: false })?.uid ?? [],
  )
  t.equal(new Set(owners).size, 1, 'all of it')
})
