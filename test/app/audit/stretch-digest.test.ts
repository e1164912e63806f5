import type { Pool } from 'pg'
import t, { type Test } from 'tap'
import type { AuditedTable } from '../../../projections/engine/audited-rows.ts'
import { differencesOf, type Expected } from '../../../src/app/audit/compare.ts'
import { matchStretch, type Appended, type Matched } from '../../../src/app/audit/match.ts'
import { digestsOf } from '../../../src/app/audit/stretch-digest.ts'
import { openPool } from '../../../src/storage/postgres/pool.ts'
import { acquireDatabase } from '../../helpers/postgres.ts'

const table: AuditedTable = {
  name: 'standing',
  columns: {
    seq: 'text',
    position: 'text',
    id: 'text',
    note: 'text',
    amount: 'amount',
    at: 'time',
    day: 'date',
    data: 'json',
    hash: 'hex',
  },
}
const standing: Appended = { table, key: 'id', unique: true, excluded: ['seq'] }

const row = (position: bigint, id: string, more: Expected = {}): Expected => ({
  position,
  id,
  note: `n ${id}`,
  amount: '1.5',
  at: '2026-01-02T03:04:05.678000Z',
  day: '2026-01-02',
  data: { text: `boat ${id}`, list: [1, null] },
  hash: '00ff',
  ...more,
})
/** Two of one position are not in the order of their key, and one has what others have to escape. */
const rows: readonly Expected[] = [
  row(1n, 'a'),
  row(2n, 'c', { note: null }),
  row(2n, 'b', { note: '' }),
  row(9n, 'd', { note: 'tab\t "quoted" \u001f né\u0000', data: { 'a b': '\u0001 \ud83d\ude80' } }),
]

async function openTable(t: Test): Promise<Pool> {
  const database = await acquireDatabase()
  const pool = openPool({
    databaseUrl: database.url,
    max: 1,
    queryTimeoutMs: 30_000,
    onLost: () => undefined,
  })
  t.teardown(async () => {
    await pool.end()
    await database.drop()
  })
  await pool.query(
    `create table standing (seq bigserial, position bigint, id text, note text, amount numeric,
                            at timestamptz, day date, data json, hash bytea)`,
  )
  for (const { position, id, note, amount, at, day, data, hash } of rows)
    await pool.query(
      `insert into standing (position, id, note, amount, at, day, data, hash)
       values ($1, $2, $3, $4::numeric + 0.00, $5, $6, $7, decode($8, 'hex'))`,
      [
        position,
        id,
        typeof note === 'string' ? note.replace('\0', '\ufffd') : null,
        amount,
        at,
        day,
        data,
        hash,
      ],
    )
  return pool
}

const stretch = { after: 0n, upTo: 10n }

async function match(db: Pool, expected: readonly Expected[]): Promise<Matched> {
  const digests = await digestsOf(db, [standing], stretch)
  return matchStretch({ db, digests, ...stretch }, standing, expected, new Set(), expected)
}

void t.test('rows that equal the expected digest are not read', async (t) => {
  const db = await openTable(t)
  t.match(await match(db, rows), { agreed: 4, pairs: [], missing: [], unexplained: [] })
  const reads: string[] = []
  const watched = {
    query: (text: string, values: unknown[]) => {
      reads.push(text)
      return db.query(text, values)
    },
  }
  const look = { db: watched as unknown as Pool, ...stretch }
  const digests = await digestsOf(look.db, [standing], stretch)
  await matchStretch({ ...look, digests }, standing, rows, new Set(), rows)
  t.equal(reads.length, 1, 'a digest is all that was asked for')
  await matchStretch({ ...look, digests }, standing, rows, new Set(), undefined)
  t.equal(reads.length, 2, 'what cannot be told beforehand is read')
  await matchStretch({ ...look, digests }, standing, rows, new Set(['elsewhere']), rows)
  t.equal(reads.length, 3, 'and so is everything once a row was found elsewhere')
})

void t.test('any changed column of a row is found by name', async (t) => {
  const db = await openTable(t)
  const changes: Readonly<Record<string, string>> = {
    note: `'n a '`,
    amount: '1.51',
    at: `at + interval '1 microsecond'`,
    day: `'2026-01-03'`,
    data: `'{"text":"boat a","list":[1,null,2]}'`,
    hash: `decode('00fe', 'hex')`,
  }
  for (const [column, change] of Object.entries(changes)) {
    await db.query('begin')
    await db.query(`update standing set ${column} = ${change} where id = 'a'`)
    const { agreed, pairs, missing, unexplained } = await match(db, rows)
    t.same([agreed, pairs.length, missing.length, unexplained.length], [0, 4, 0, 0], column)
    const found = pairs.flatMap(([expected, stands]) => differencesOf(expected, stands))
    t.match(found, [{ field: new RegExp(`^${column}`) }])
    await db.query('rollback')
  }
  t.equal((await match(db, rows)).agreed, 4)
})

void t.test('a null differs from an empty text, and a row from its neighbour', async (t) => {
  const db = await openTable(t)
  for (const change of [
    `update standing set note = '' where id = 'c'`,
    `update standing set note = null where id = 'b'`,
    `update standing set note = case id when 'b' then null when 'c' then '' else note end`,
    `update standing set id = case id when 'b' then 'c' when 'c' then 'b' else id end`,
    `update standing set position = 3 where id = 'a'`,
    `delete from standing where id = 'd'`,
    `insert into standing (position, id) values (4, 'e')`,
    `insert into standing select * from standing where id = 'd'`,
  ]) {
    await db.query('begin')
    await db.query(change)
    t.equal((await match(db, rows)).agreed, 0, change)
    await db.query('rollback')
  }
  const [, ...fewer] = rows
  t.equal((await match(db, fewer)).agreed, 0)
  t.match(await match(db, []), { agreed: 0, unexplained: { length: 4 } })
})

void t.test('JSON written in another key order is read, and equal', async (t) => {
  const db = await openTable(t)
  await db.query(
    `update standing set data = '{"list": [1, null], "text": "boat a"}' where id = 'a'`,
  )
  const { agreed, pairs } = await match(db, rows)
  t.same([agreed, pairs.length], [0, 4])
  t.same(
    pairs.flatMap(([expected, stands]) => differencesOf(expected, stands)),
    [],
  )
})
