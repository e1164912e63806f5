import t from 'tap'
import {
  createSpeechFamily,
  type SpeechCallInput,
} from '../../../../src/families/speech/calls/family.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import { createResolveVoice } from '../../../../src/families/speech/calls/voices.ts'
import type { SpeechAnswer, SpeechProvider } from '../../../../src/families/speech/ports.ts'
import { readSpeech } from '../../../../src/families/speech/rules/request.ts'
import { RawString } from '../../../../src/kernel/raw-string.ts'

const options = { signal: new AbortController().signal, requestId: 'req_1', callId: 'call_1' }
const channel = (audioMode?: 'json' | 'hex') =>
  ({ models: { 'speech-2.8-hd': 'upstream-1' }, settings: { audioMode } }) as unknown as Channel
const asked = (fields = {}, voice: SpeechCallInput['voice'] = { voiceId: 'v' }) =>
  ({
    family: 'speech',
    model: 'speech-2.8-hd',
    request: readSpeech(
      { model: 'speech-2.8-hd', text: 'x', voice_id: 'male-qn-badao', ...fields },
      'call',
    ),
    voice,
  }) as unknown as SpeechCallInput

const answering = (audio: SpeechAnswer['audio']) => {
  const seen = { usage: { character: 1 } }
  const answer = { upstreamRequestId: 'u', restMs: undefined, audio, shown: { a: 1 }, seen }
  const provider: SpeechProvider = {
    speak: () => Promise.resolve(answer),
    stream: () => Promise.reject(new Error('not asked')),
  }
  return createSpeechFamily(provider)
}
async function bodyOf(audio: SpeechAnswer['audio'], mode?: 'json' | 'hex', fields = {}) {
  const family = answering(audio)
  return (
    await family.ask(asked(fields), channel(mode), { body: {}, audioBytes: 1 }, options)
  ).body()
}

void t.test('audio is JSON, or bytes by the account’s setting; a URL is JSON', async (t) => {
  t.same(await bodyOf('49FF'), { form: 'json', audio: '49FF', shown: { a: 1 } })
  const long = new RawString(Buffer.from('49ff'))
  t.same(await bodyOf(long, 'json'), { form: 'json', audio: long, shown: { a: 1 } })
  for (const audio of ['49ff', long])
    t.same(await bodyOf(audio, 'hex'), { form: 'audio', bytes: Buffer.from([0x49, 0xff]) })
  const url = 'https://media.example.test/a.mp3'
  t.match(await bodyOf(url, 'hex', { output_format: 'url' }), { form: 'json', audio: url })
})

void t.test('audio that cannot be decoded is our cost and not billed', async (t) => {
  const malformed = { name: 'ProviderError', kind: 'malformed', acceptance: 'certain' }
  for (const audio of ['', '4', '49f', '4g', 'https://x', new RawString(Buffer.from('4 ff'))])
    for (const mode of ['json', 'hex'] as const)
      await t.rejects(bodyOf(audio, mode), malformed, String(audio))
  for (const audio of ['49ff', '', 'javascript:1'])
    await t.rejects(bodyOf(audio, 'json', { output_format: 'url' }), malformed, audio)
})

void t.test('a tenant’s cloned voice is used at its account, by its upstream name', async (t) => {
  const family = answering('49')
  const { channelQuery, request } = family.resolve(
    asked({}, { voiceId: 'hash-1', channelId: 'there' }),
    [],
  )
  t.same(channelQuery, { family: 'speech', model: 'speech-2.8-hd', channelId: 'there' })
  t.match(request.body, { voice_setting: { voice_id: 'hash-1' } })
  t.same(family.resolve(asked(), []).channelQuery, { family: 'speech', model: 'speech-2.8-hd' })

  const found: unknown[] = []
  const resolve = createResolveVoice((tenantId, name) => {
    found.push([tenantId, name])
    const mine = tenantId === 'tenant_1' && name === 'MyVoice_001'
    return Promise.resolve(mine ? { upstreamVoiceId: 'hash-1', channelId: 'there' } : undefined)
  })
  t.same(await resolve('tenant_1', 'MyVoice_001'), { voiceId: 'hash-1', channelId: 'there' })
  t.same(await resolve('tenant_2', 'audiobook_male_2'), { voiceId: 'audiobook_male_2' })
  t.equal(found.length, 1, 'what everybody has is not looked for')
  const errors = await Promise.all(
    (['MyVoice_001', 'NoVoice_404', 'hash-1'] as const).map((name) =>
      resolve('tenant_2', name).catch((error: unknown) => error),
    ),
  )
  for (const error of errors) t.same(error, errors[0], 'one answer for all of them')
  t.match(errors[0], { code: 'voice_not_found', details: {} })
})

void t.test('upstream’s code for an unknown voice is voice_not_found', async (t) => {
  const refused = (code: string) =>
    answering('49').refusal(new ProviderError('invalid', 'ruled_out', 'no', { code }), 'call_1')
  t.match(refused('2042'), { code: 'voice_not_found', details: { callId: 'call_1' } })
  t.match(refused('1026'), { code: 'call_refused', details: { upstreamCode: '1026' } })
})
