import t from 'tap'
import { bigint, nullable, text, time } from '../../../projections/engine/column.ts'
import { fromRows, rowsOf } from '../../../projections/engine/read-model.ts'
import { table } from '../../../projections/engine/table.ts'
import type { Projection } from '../../../projections/engine/types.ts'
import { allProjections } from '../../../projections/registry.ts'
import { audit } from '../../../src/app/audit/audit.ts'
import { fileStream, type FileEvent } from '../../../src/domain/file/events.ts'
import { voiceKey, voiceStreams, type VoiceEvent } from '../../../src/domain/voice/events.ts'
import { applied, digestOf, testPool } from '../../projections/support/database.ts'
import { Recorder } from '../../projections/support/history.ts'
import { history, takenIn } from './support/audited.ts'

/** What a new read model is made of: its rows, and a line in the registry. */
const names = rowsOf<FileEvent>()({
  table: table('names.names', {
    columns: {
      file_id: text(),
      tenant_id: text(),
      filename: text(),
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
    FileDeleted: ({ data: { deletedAt } }) => ({ deletedAt }),
  },
})

const namesProjection: Projection = {
  name: 'names',
  version: 1,
  ...fromRows({ names }, { totals: `select 'names' as name, count(*)::text as total from names` }),
}

/** An event that comes again and again for one row, and counts how often. */
const clones = rowsOf<VoiceEvent>()({
  table: table('clones.clones', {
    columns: { voice_key: text(), tenant_id: text(), count: bigint(), position: bigint() },
    key: ['voice_key'],
  }),
  stream: (key) => `${voiceStreams}${key}`,
  of: ({ data }) => voiceKey(data),
  begins: 'VoiceCloned',
  again: true,
  sets: {
    VoiceCloned: ({ data, position }, row) => ({
      voiceKey: voiceKey(data),
      tenantId: data.tenantId,
      count: (row?.count ?? 0n) + 1n,
      position,
    }),
  },
})

const clonesProjection: Projection = {
  name: 'clones',
  version: 1,
  ...fromRows(
    { clones },
    { totals: `select 'clones' as name, coalesce(sum(count), 0)::text as total from clones` },
  ),
}

t.test('a row keeps the event that began it, whatever the batches', async (t) => {
  const events = history(new Recorder())
  const digests = []
  for (const maxEvents of [100, 1]) {
    const pool = await testPool(t)
    await applied(t, pool, events, [clonesProjection], maxEvents)
    const { rows } = await pool.query('select tenant_id, count from clones.clones')
    t.same(rows, [{ tenant_id: 'tenant_1', count: '2' }])
    digests.push((await digestOf(pool, clonesProjection)).hash)
  }
  t.equal(digests[0], digests[1])
  const models = [...allProjections, clonesProjection]
  const { pool, log } = await takenIn(t, events, models)
  t.match(await audit({ pool, log, models }), { ok: true, rows: { 'clones.clones': 1 } })
  await pool.query('update clones.clones set count = 1')
  t.match((await audit({ pool, log, models })).findings, [
    { table: 'clones.clones', code: 'row_differs', differences: [{ field: 'count', log: '2' }] },
  ])
})

t.test('a new read model is audited without a change of the audit', async (t) => {
  const models = [...allProjections, namesProjection]
  const { pool, log } = await takenIn(t, history(new Recorder()), models)
  const clean = await audit({ pool, log, models })
  t.match(clean, { ok: true, findings: [], rows: { 'names.names': 3, 'files.files': 3 } })
  const tamperings = [
    [
      `update names.names set filename = 'x' where file_id = 'file-1'`,
      { code: 'row_differs', differences: [{ field: 'filename', log: '1.png', stands: 'x' }] },
    ],
    [
      `update names.names set deleted_at = null where file_id = 'file-0'`,
      { code: 'row_differs', key: 'file-0', differences: [{ field: 'deleted_at', stands: null }] },
    ],
    [`delete from names.names where file_id = 'file-2'`, { code: 'row_missing', key: 'file-2' }],
    [
      `insert into names.names values ('file-9', 'tenant_0', 'x', null, 1)`,
      { code: 'row_unexplained', key: 'file-9' },
    ],
  ] as const
  await pool.query('create table kept as table names.names')
  for (const [sql, finding] of tamperings) {
    await pool.query(sql)
    const { findings, findingsInAll } = await audit({ pool, log, models })
    t.match(findings, [{ table: 'names.names', ...finding }])
    t.equal(findingsInAll, 1, sql)
    await pool.query('truncate names.names; insert into names.names table kept')
  }
})

t.test('an event that a fold refuses is a finding, and the audit goes on', async (t) => {
  const { pool, log } = await takenIn(t, history(new Recorder()), allProjections)
  const begun = log.events.findIndex(
    ({ type, stream }) => type === 'FileUploaded' && stream === fileStream('file-0'),
  )
  log.events.splice(begun, 1)
  const { findings } = await audit({ pool, log, models: allProjections })
  const found = findings.map(({ code, table, key }) => `${code} ${table} ${key}`)
  t.ok(found.includes('not_compared files.files file-0'), found.join(', '))
  t.ok(
    found.some((one) => one.startsWith('row_unexplained timeline.events')),
    'the event that is gone is named where every event has a row',
  )
})
