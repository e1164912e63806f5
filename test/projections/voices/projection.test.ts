import t from 'tap'
import { voicesProjection } from '../../../projections/voices/projection.ts'
import { uploadStream } from '../../../src/domain/upload/events.ts'
import { voiceStream } from '../../../src/domain/voice/events.ts'
import type { RecordedEvent } from '../../../src/eventlog/log/types.ts'
import { caughtUp, digestOf, startEngine, testPool } from '../support/database.ts'
import { Recorder, START_MS } from '../support/history.ts'
import { ScriptedLog } from '../support/memory-log.ts'

const at = new Date(START_MS).toISOString()
const recorder = new Recorder()

function uploaded(fileId: string, tenantId: string): RecordedEvent {
  return recorder.record(uploadStream(fileId), {
    type: 'MediaUploaded',
    data: {
      fileId,
      tenantId,
      userId: 'user_1',
      tokenId: 'tok_1',
      channelId: 'speech-1',
      upstreamFileId: '9223372036854775807',
      purpose: 'voice_clone',
      filename: 'größe "1".wav',
      sizeBytes: 2 ** 40,
      uploadedAt: at,
    },
  })
}

function cloned(tenantId: string, requestId: string): RecordedEvent {
  const voice = { voiceId: 'MyVoice_001', tenantId, userId: 'user_1', tokenId: 'tok_1', requestId }
  const place = { channelId: 'speech-1', upstreamVoiceId: `v-${tenantId}`, sourceFileId: '7' }
  return recorder.record(voiceStream(voice), {
    type: 'VoiceCloned',
    data: { ...voice, ...place, clonedAt: at },
  })
}

const events = [
  uploaded('7', 'tenant_1'),
  cloned('tenant_1', 'req_1'),
  cloned('tenant_2', 'req_2'),
  uploaded('8', 'tenant_2'),
  cloned('tenant_1', 'req_3'),
]

t.test('a name is one row of its tenant, with its last clone, for any batches', async (t) => {
  const digests = []
  for (const slice of [events.length, 1]) {
    const pool = await testPool(t)
    const log = new ScriptedLog()
    startEngine(t, { pool, log, projections: [voicesProjection] })
    for (let from = 0; from < events.length; from += slice) {
      log.push(...events.slice(from, from + slice))
      await caughtUp(pool, log, [voicesProjection])
    }
    digests.push((await digestOf(pool, voicesProjection)).hash)
    const voices = await pool.query('select voice_key, request_id from voices.voices order by 1')
    t.same(voices.rows, [
      { voice_key: 'tenant_1/MyVoice_001', request_id: 'req_3' },
      { voice_key: 'tenant_2/MyVoice_001', request_id: 'req_2' },
    ])
    const uploads = await pool.query('select file_id, size_bytes from voices.uploads order by 1')
    t.same(uploads.rows, [
      { file_id: '7', size_bytes: String(2 ** 40) },
      { file_id: '8', size_bytes: String(2 ** 40) },
    ])
  }
  t.equal(new Set(digests).size, 1)
})
