import t from 'tap'
import type { Pool, PoolClient } from 'pg'
import {
  bigint,
  bool,
  bytes,
  constrained,
  date,
  decimal,
  document,
  from,
  int,
  json,
  nullable,
  operational,
  pico,
  quantity,
  text,
  texts,
  time,
  timeOfMs,
  uuid,
  whole,
} from '../../../projections/engine/column.ts'
import { audited, fromTables, rowsOf } from '../../../projections/engine/read-model.ts'
import { table, type Table } from '../../../projections/engine/table.ts'
import { inSchema } from '../../../projections/engine/transaction.ts'
import { fileStream, type FileEvent } from '../../../src/domain/file/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { testPool } from '../support/database.ts'
import { Recorder } from '../support/history.ts'

/** Creates a table in the schema `shop`. */
async function createTable(pool: Pool, of: Pick<Table, 'tableSql' | 'indexesSql'>): Promise<void> {
  await pool.query('drop schema if exists shop cascade; create schema shop')
  await inSchema(pool, 'shop', async (client) => {
    await client.query(of.tableSql)
    await client.query(of.indexesSql)
  })
}

async function within<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  return inSchema(pool, 'shop', work)
}

const things = table('shop.things', {
  columns: {
    thing_id: text(),
    payload: document(),
    event_id: uuid(),
    n: int(),
    size_bytes: bigint(),
    is_open: bool(),
    price: decimal(),
    amount: from('amountPico', pico()),
    total: quantity(),
    at: time(),
    seen_at: timeOfMs(),
    day: date(),
    hash: bytes(),
    facts: json(),
    models: nullable(texts()),
    note: nullable(text()),
    lease: operational(nullable(text())),
  },
  key: ['thing_id'],
})

const thing = {
  thingId: 'a"b',
  payload: { b: 1, a: 'x\u0000"' },
  eventId: '00000000-0000-4000-8000-000000000001',
  n: 3,
  sizeBytes: 9_007_199_254_740_993n,
  isOpen: true,
  price: '1.5',
  amountPico: 1_000_000_000_001n,
  total: 12n,
  at: '2026-03-01T10:00:00.123456Z',
  seenAt: 1_772_359_200_123,
  day: '2026-03-01',
  hash: Buffer.from('ff00', 'hex'),
  facts: { 'a"': [1, null] },
  models: ['x"y', 'z'],
}

t.test('every kind of column is stored as given', async (t) => {
  const pool = await testPool(t, 2)
  await createTable(pool, things)
  await within(pool, (client) =>
    things.insert(client, [thing, { ...thing, thingId: 'second', models: null, note: 'n' }]),
  )
  const { rows } = await pool
    .query<Record<string, unknown>>(
      `set timezone to 'UTC'; select *, payload::text as payload, at::text as at,
       seen_at::text as seen_at, day::text as day from shop.things order by thing_id`,
    )
    .then((results) => (results as unknown as (typeof results)[])[1]!)
  t.match(rows[0], {
    thing_id: 'a"b',
    // As it was written, with what Postgres cannot hold replaced.
    payload: '{"b":1,"a":"x\ufffd\\""}',
    event_id: thing.eventId,
    n: 3,
    size_bytes: '9007199254740993',
    is_open: true,
    price: '1.500000000000',
    amount: '1.000000000001',
    total: '12',
    at: '2026-03-01 10:00:00.123456+00',
    seen_at: '2026-03-01 10:00:00.123+00',
    day: '2026-03-01',
    facts: { 'a"': [1, null] },
    models: ['x"y', 'z'],
    note: null,
    lease: null,
  })
  t.same(rows[0]?.['hash'], thing.hash)
  t.match(rows[1], { thing_id: 'second', models: null, note: 'n' })
  const loaded = await within(pool, (client) => things.load(client, ['a"b', 'absent']))
  t.same([...loaded.keys()], ['a"b'])
  const { thingId, n, sizeBytes, isOpen, facts, models } = thing
  t.match(loaded.get('a"b'), {
    thingId,
    n,
    sizeBytes,
    isOpen,
    facts,
    models,
    at: '2026-03-01 10:00:00.123456+00',
  })
})

t.test('an upsert adds, replaces, keeps the greatest or fills in, as declared', async (t) => {
  const pool = await testPool(t, 2)
  const counts = table('shop.counts', {
    columns: {
      kind: text(),
      part: text(),
      n: whole(),
      position: operational(bigint()),
      name: nullable(text()),
      first: text(),
    },
    key: ['kind', 'part'],
    onConflict: { n: 'add', position: 'greatest', name: 'fill' },
  })
  await createTable(pool, counts)
  const row = { kind: 'a', part: '', n: 2, position: 7n, first: 'once' }
  await within(pool, async (client) => {
    await counts.upsert(client, [row, { ...row, part: 'b', name: 'known' }])
    await counts.upsert(client, [
      { ...row, n: -5n, position: 3n, name: 'late', first: 'again' },
      { ...row, part: 'b', position: 9n },
    ])
  })
  const { rows } = await pool.query('select * from shop.counts order by part')
  t.same(rows, [
    { kind: 'a', part: '', n: '-3', position: '7', name: 'late', first: 'once' },
    { kind: 'a', part: 'b', n: '4', position: '9', name: 'known', first: 'once' },
  ])
})

t.test('an upsert without conflict rules replaces all columns but the key', async (t) => {
  const pool = await testPool(t, 2)
  const notes = table('shop.notes', {
    columns: { note_id: text(), words: nullable(text()) },
    key: ['note_id'],
  })
  await createTable(pool, notes)
  await within(pool, async (client) => {
    await notes.insert(client, [{ noteId: 'a', words: 'x' }])
    await notes.upsert(client, [{ noteId: 'a' }, { noteId: 'b', words: 'y' }])
    await notes.upsert(client, [])
    await notes.insert(client, [])
  })
  const { rows } = await pool.query('select * from shop.notes order by 1')
  t.same(rows, [
    { note_id: 'a', words: null },
    { note_id: 'b', words: 'y' },
  ])
})

t.test('a merge changes given columns of existing rows, and returns their number', async (t) => {
  const pool = await testPool(t, 2)
  const holds = table('shop.holds', {
    columns: { source_id: text(), state: text(), closed_at: nullable(time()), amount: decimal() },
    key: ['source_id'],
  })
  const close = holds.merging('close', ['state', 'closed_at'])
  await createTable(pool, holds)
  const changed = await within(pool, async (client) => {
    await holds.insert(
      client,
      [
        { state: 'placed', amount: '1' },
        { state: 'placed', amount: '2' },
      ],
      { sourceId: ['a', 'b'] },
    )
    return close(client, [
      { sourceId: 'a', state: 'closed', closedAt: '2026-03-01T00:00:00Z' },
      { sourceId: 'b', closedAt: '2026-03-02T00:00:00Z' },
      { sourceId: 'absent', state: 'closed' },
    ])
  })
  t.equal(changed, 2)
  const { rows } = await pool.query('select source_id, state, closed_at from shop.holds order by 1')
  t.same(rows, [
    { source_id: 'a', state: 'closed', closed_at: new Date('2026-03-01') },
    { source_id: 'b', state: 'placed', closed_at: new Date('2026-03-02') },
  ])
})

t.test('the definition, the indexes and the compared columns follow from the record', async (t) => {
  const pool = await testPool(t, 2)
  const polls = table('shop.polls', {
    columns: {
      poll_id: text(),
      kind: constrained(text(), `check (kind in ('poll', 'watch'))`),
      attempts: operational(constrained(int(), 'default 0')),
      position: bigint(),
    },
    key: ['poll_id'],
    constraints: ['unique (kind, position)'],
    storage: 'fillfactor = 60',
    earlyIndexes: { due: '(attempts)' },
    indexes: { kind: `(kind) where kind = 'poll'`, place: 'unique (position)' },
    compared: `kind <> 'watch'`,
    seed: `('first', 'poll', 0, 1)`,
  })
  await createTable(pool, polls)
  const { rows: indexes } = await pool.query<{ indexdef: string }>(
    `select indexdef from pg_indexes where schemaname = 'shop' order by indexname`,
  )
  t.same(
    indexes.map(({ indexdef }) => indexdef.replace(/^.* INDEX /, '')),
    [
      'polls_due ON shop.polls USING btree (attempts)',
      "polls_kind ON shop.polls USING btree (kind) WHERE (kind = 'poll'::text)",
      'polls_kind_position_key ON shop.polls USING btree (kind, "position")',
      'polls_pkey ON shop.polls USING btree (poll_id)',
      'polls_place ON shop.polls USING btree ("position")',
    ],
  )
  const { rows: options } = await pool.query(
    `select reloptions from pg_class where oid = 'shop.polls'::regclass`,
  )
  t.same(options, [{ reloptions: ['fillfactor=60'] }])
  await t.rejects(pool.query(`update shop.polls set kind = 'x'`), /polls_kind_check/)
  t.same(audited({ polls }), {
    polls: { name: 'shop.polls', columns: { poll_id: 'text', kind: 'text', position: 'text' } },
  })
  const { digest } = fromTables({ polls }, { totals: `select 'polls' as name, '1' as total` })
  const before = await within(pool, digest)
  await pool.query(`insert into shop.polls values ('w', 'watch', 0, 2)`)
  await pool.query('update shop.polls set attempts = 5')
  t.same(await within(pool, digest), before, 'leases and watches are not compared')
  t.match(before, { rows: 1, totals: { polls: '1' } })
  await pool.query(`update shop.polls set position = 8 where poll_id = 'first'`)
  t.not((await within(pool, digest)).hash, before.hash)
})

t.test('columns set by events are folded over a batch, and over existing rows', async (t) => {
  const pool = await testPool(t, 2)
  const uploads = rowsOf<FileEvent>()({
    table: table('shop.uploads', {
      columns: {
        file_id: text(),
        filename: text(),
        size_bytes: whole(),
        uploaded_at: time(),
        deleted_at: nullable(time()),
        position: bigint(),
      },
      key: ['file_id'],
    }),
    stream: fileStream,
    of: ({ data }) => data.fileId,
    begins: 'FileUploaded',
    sets: {
      FileUploaded: ({ data, position }) => ({ ...data, position }),
      FileDeleted: ({ data }) => ({ deletedAt: data.deletedAt }),
    },
  })
  await createTable(pool, uploads.table)
  const recorder = new Recorder()
  const owner = { tenantId: 'tenant_1', userId: 'user_0', tokenId: 'tok_1' }
  const uploaded = (fileId: string): RecordedEvent =>
    recorder.record(fileStream(fileId), {
      type: 'FileUploaded',
      data: {
        fileId,
        ...owner,
        purpose: 'vision',
        filename: 'a.png',
        sizeBytes: 5,
        uploadedAt: '2026-03-01T10:00:00.123456Z',
      },
    })
  const deleted = (fileId: string): RecordedEvent =>
    recorder.record(fileStream(fileId), {
      type: 'FileDeleted',
      data: { fileId, ...owner, deletedAt: '2026-03-02T10:00:00Z' },
    })
  const apply = (events: readonly RecordedEvent[]): Promise<void> =>
    within(pool, (client) => uploads.apply(client, events))
  await apply([uploaded('a'), uploaded('b'), deleted('b')])
  await apply([deleted('a')])
  const { rows } = await pool.query(
    `select file_id, filename, size_bytes, uploaded_at at time zone 'UTC' = '2026-03-01 10:00:00.123456' as same,
            deleted_at from shop.uploads order by 1`,
  )
  const both = {
    filename: 'a.png',
    size_bytes: '5',
    same: true,
    deleted_at: new Date('2026-03-02T10:00:00Z'),
  }
  t.same(rows, [
    { file_id: 'a', ...both },
    { file_id: 'b', ...both },
  ])
  await t.rejects(apply([deleted('c')]), /FileDeleted of c, which never began/)
  await t.rejects(apply([uploaded('a')]), /a began twice/)
})
