import t from 'tap'
import { ownUpload, uploadDecider, type UploadState } from '../../../src/domain/upload/decider.ts'
import {
  voiceDecider,
  type VoiceCommand,
  type VoiceState,
  isVoiceName,
} from '../../../src/domain/voice/decider.ts'
import { voiceKey } from '../../../src/domain/voice/events.ts'
import { newUploadId } from '../../../src/kernel/ids.ts'
import { isPositiveInt64 } from '../../../src/kernel/int64.ts'

const by = { tenantId: 'tenant_1', userId: 'user_1', tokenId: 'token_1' } as const
const at = '2026-01-02T03:04:05.000Z'
const voice = {
  ...by,
  voiceId: 'MyVoice_001',
  requestId: 'req_1',
  channelId: 'speech-1',
  upstreamVoiceId: 'v01',
  sourceFileId: '7',
  clonedAt: at,
} as const
const file = {
  ...by,
  fileId: '7',
  channelId: 'speech-1',
  upstreamFileId: '9223372036854775807',
  purpose: 'voice_clone',
  filename: 'me.wav',
  sizeBytes: 3,
  uploadedAt: at,
} as const

t.test('a name belongs to one voice for ever', (t) => {
  const given: VoiceState = { phase: 'cloned', voice }
  const clone = (more: Partial<VoiceCommand['voice']> = {}): VoiceCommand => ({
    kind: 'clone',
    voice: { ...voice, ...more },
  })
  const first = voiceDecider.decide(clone(), voiceDecider.initial)
  t.same(first, [{ type: 'VoiceCloned', data: voice }])
  t.same(first.reduce(voiceDecider.evolve, voiceDecider.initial), given)
  t.equal(
    voiceDecider.decide(clone({ requestId: 'req_2' }), given).length,
    1,
    'the same voice, which upstream had let go of',
  )
  for (const other of [{ upstreamVoiceId: 'v02' }, { channelId: 'speech-2' }])
    t.throws(() => voiceDecider.decide(clone(other), given), {
      code: 'voice_exists',
      details: { param: 'voice_id' },
    })
  t.end()
})

t.test('two tenants may use one name, for separate voices', (t) => {
  const keys = ['tenant_1', 'tenant_2', 'tenant_1/x'].map((tenantId) =>
    voiceKey({ tenantId, voiceId: 'MyVoice_001' }),
  )
  t.equal(new Set(keys).size, keys.length)
  t.notOk(isVoiceName('MyVoice/001'), 'what stands between them is in no name')
  t.end()
})

t.test('the names that a voice may have', (t) => {
  for (const name of ['MyVoice1', 'a-b_c-d-9', `v${'x'.repeat(255)}`]) t.ok(isVoiceName(name), name)
  const refused = [
    '',
    'short12',
    '1MyVoice',
    '_MyVoice',
    'MyVoice_',
    'MyVoice-',
    'My Voice1',
    'MyVöice1',
    'MyVoice1\n',
    `v${'x'.repeat(256)}`,
  ]
  for (const name of refused) t.notOk(isVoiceName(name), name)
  t.end()
})

t.test('an upload id is used once, and belongs to its tenant only', (t) => {
  const given: UploadState = { phase: 'uploaded', file }
  const command = { kind: 'upload', file } as const
  t.same(uploadDecider.decide(command, uploadDecider.initial), [
    { type: 'MediaUploaded', data: file },
  ])
  t.same(uploadDecider.decide(command, given), [], 'the caller tries another id')
  const at = '2026-11-24T00:00:00.000Z'
  t.same(ownUpload(given, 'tenant_1', at), file, 'one of before there was an end has none')
  const ending: UploadState = { phase: 'uploaded', file: { ...file, expiresAt: at } }
  t.ok(ownUpload(ending, 'tenant_1', '2026-11-23T23:59:59.999Z'))
  t.throws(() => ownUpload(ending, 'tenant_1', at), { code: 'file_not_found' })
  for (const state of [given, uploadDecider.initial])
    t.throws(() => ownUpload(state, 'tenant_2', at), {
      code: 'file_not_found',
      message: 'the file does not exist',
      details: {},
    })
  t.end()
})

t.test('ids are 64-bit integers, and the gateway’s are exact as doubles', (t) => {
  const largest = (2n ** 63n - 1n).toString()
  for (const id of ['1', '9007199254740993', largest]) t.ok(isPositiveInt64(id), id)
  const none = [
    '0',
    '-1',
    '01',
    '1.0',
    '1e3',
    ' 1',
    '1\n',
    '',
    (2n ** 63n).toString(),
    '9'.repeat(40),
  ]
  for (const id of none) t.notOk(isPositiveInt64(id), id)
  const ours = Array.from({ length: 1_000 }, newUploadId)
  t.ok(ours.every((id) => isPositiveInt64(id) && String(Number(id)) === id))
  t.ok(ours.every((id) => Number.isSafeInteger(Number(id))))
  t.equal(new Set(ours).size, ours.length)
  t.end()
})
