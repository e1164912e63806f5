import t from 'tap'
import { filesProjection } from '../../../projections/files/projection.ts'
import { filePlace, filesThere, listFiles } from '../../../projections/files/query.ts'
import { fileStream, type FilePurpose } from '../../../src/domain/file/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { caughtUp, digestOf, startEngine, testPool } from '../support/database.ts'
import { Recorder, START_MS } from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'

const at = new Date(START_MS).toISOString()
const recorder = new Recorder()

function uploaded(n: number, tenantId: string, purpose: FilePurpose = 'vision'): RecordedEvent {
  const fileId = `file-${n}`
  return recorder.record(fileStream(fileId), {
    type: 'FileUploaded',
    data: {
      fileId,
      tenantId,
      userId: 'user_1',
      tokenId: 'tok_1',
      purpose,
      filename: `${n}.png`,
      sizeBytes: 2 ** 40 + n,
      uploadedAt: at,
    },
  })
}

function deleted(n: number, tenantId: string): RecordedEvent {
  const fileId = `file-${n}`
  return recorder.record(fileStream(fileId), {
    type: 'FileDeleted',
    data: { fileId, tenantId, userId: 'user_1', tokenId: 'tok_2', deletedAt: at },
  })
}

const events = [
  uploaded(1, 'tenant_1'),
  uploaded(2, 'tenant_2'),
  uploaded(3, 'tenant_1', 'user_data'),
  deleted(1, 'tenant_1'),
  uploaded(4, 'tenant_1'),
]

t.test('files are listed for their tenant, equally for any batches', async (t) => {
  const digests = []
  for (const slice of [events.length, 1]) {
    const pool = await testPool(t)
    const log = new ScriptedLog()
    startEngine(t, { pool, log, projections: [filesProjection] })
    for (let from = 0; from < events.length; from += slice) {
      log.push(...events.slice(from, from + slice))
      await caughtUp(pool, log, [filesProjection])
    }
    const { hash } = await digestOf(pool, filesProjection)
    digests.push(hash)
    if (slice !== 1) continue
    const page = { tenantId: 'tenant_1', purpose: undefined, limit: 10, nowMs: START_MS } as const
    const desc = await listFiles(pool, { ...page, order: 'desc', afterPlace: undefined })
    t.same(
      desc.map(({ fileId }) => fileId),
      ['file-4', 'file-3'],
    )
    t.same(desc[1], {
      fileId: 'file-3',
      purpose: 'user_data',
      filename: '3.png',
      sizeBytes: 2 ** 40 + 3,
      uploadedAtMs: START_MS,
      expiresAtMs: undefined,
    })
    const afterPlace = await filePlace(pool, 'tenant_1', 'file-1')
    t.ok(afterPlace, 'a deleted file keeps its place')
    const asc = await listFiles(pool, { ...page, order: 'asc', afterPlace })
    t.same(
      asc.map(({ fileId }) => fileId),
      ['file-3', 'file-4'],
    )
    t.equal(await filePlace(pool, 'tenant_1', 'file-2'), undefined, 'of another tenant')
    t.same(
      await filesThere(pool, ['file-1', 'file-2', 'file-3', 'none'], START_MS),
      new Set(['file-2', 'file-3']),
    )
  }
  t.equal(new Set(digests).size, 1)
})
