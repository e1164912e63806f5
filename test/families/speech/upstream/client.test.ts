import t from 'tap'
import { startSandbox } from '../../../../infra/sandbox/server.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import type { SpeechCall } from '../../../../src/families/speech/ports.ts'
import { createSpeechProvider } from '../../../../src/families/speech/upstream/client.ts'
import { createSpeechTaskProvider } from '../../../../src/families/speech/upstream/tasks.ts'
import type { JsonObject } from '../../../../src/kernel/json.ts'
import { sandboxSpeechChannels } from '../../../helpers/sandbox-channels.ts'
import { durationMs } from './sounds.ts'

/** The adapters of speech against the sandbox, which refuses what upstream would. */

const sandbox = await startSandbox({ apiKeys: ['right-key'], queuedMs: 1_000, runningMs: 1_000 })
const calls = createSpeechProvider()
const tasks = createSpeechTaskProvider()
t.teardown(async () => {
  await Promise.all([calls.close(), tasks.close()])
  await sandbox.close()
})

const [account] = sandboxSpeechChannels({ baseUrl: sandbox.url, credential: 'right-key' })
if (account === undefined) throw new Error('the sandbox speaks')
const channel: Channel = account
const impatient: Channel = { ...account, id: 'impatient', timeoutMs: 150 }
const options = { signal: new AbortController().signal, requestId: 'req_1' }

function asked(text: string, more: JsonObject = {}): SpeechCall {
  const { audio_setting, ...rest } = more
  return {
    upstreamModel: 'voicer-2.8-hd',
    body: {
      text,
      stream: false,
      output_format: 'hex',
      voice_setting: { voice_id: 'male-qn-qingse' },
      ...(audio_setting === undefined ? {} : { audio_setting }),
      ...rest,
    },
    audioBytes: 1_000_000,
  }
}
const speak = (text: string, more?: JsonObject, on = channel) =>
  calls.speak(on, asked(text, more), options)

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown)
  if (error instanceof ProviderError) return error
  throw new Error('it did not fail')
}

void t.test('audio of every format is as long as its text', async (t) => {
  for (const format of ['mp3', 'wav', 'flac'])
    for (const sample_rate of [8_000, 24_000, 44_100]) {
      const setting = { format, sample_rate, bitrate: 64_000, channel: 2 }
      const text = 'x'.repeat(format === 'flac' ? 200 : 40)
      const { audio, shown, seen } = await speak(text, { audio_setting: setting })
      const bytes = Buffer.from(String(audio), 'hex')
      const reportedMs: unknown = Object(shown['extra_info']).audio_length
      t.equal(reportedMs, text.length * 60)
      const name = `${format} ${sample_rate}`
      t.ok(Math.abs(durationMs(format, bytes) - Number(reportedMs)) <= 40, name)
      t.match(shown, { extra_info: { audio_size: bytes.length, audio_format: format } }, name)
      t.same(seen, { usage: { character: text.length } })
    }
  const { audio } = await speak('x', { audio_setting: { format: 'pcm', sample_rate: 16_000 } })
  t.equal(String(audio).length, 60 * 16 * 2 * 2, 'raw samples')
})

void t.test('a URL gives the audio of the answer', async (t) => {
  const { audio } = await speak('ten chars.', { output_format: 'url' })
  t.match(String(audio), sandbox.url)
  const bytes = Buffer.from(await (await fetch(String(audio))).arrayBuffer())
  t.ok(Math.abs(durationMs('mp3', bytes) - 600) <= 40)
})

void t.test('the usage that upstream counts is read, and missing usage is absent', async (t) => {
  t.same((await speak('你好 ok')).seen, { usage: { character: 7 } })
  t.same((await speak('[[sandbox tokens=5]]')).seen, { usage: { character: 5 } })
  t.same((await speak('[[sandbox zero-usage]]')).seen, { usage: { character: 0 } })
  t.same((await speak('[[sandbox no-usage]]')).seen, { usage: {} })
  const odd = await speak('[[sandbox other-size]]')
  t.ok(odd.audio.length > 100, 'a size of nothing is no sign of no audio')
})

void t.test('each code has a kind and an acceptance', async (t) => {
  const cases = [
    ['1002', 'rate_limited', 'ruled_out'],
    ['1039', 'rate_limited', 'ruled_out'],
    ['1004', 'account', 'ruled_out'],
    ['1008', 'account', 'ruled_out'],
    ['2049', 'account', 'ruled_out'],
    ['2038', 'account', 'ruled_out'],
    ['1001', 'timeout', 'unknown'],
    ['1000', 'unavailable', 'unknown'],
    ['1033', 'unavailable', 'unknown'],
    ['7777', 'unavailable', 'unknown'],
    ['1026', 'invalid', 'ruled_out'],
    ['1042', 'invalid', 'ruled_out'],
    ['2013', 'invalid', 'ruled_out'],
    ['1027', 'invalid', 'certain'],
  ] as const
  for (const [code, kind, acceptance] of cases) {
    const error = await failureOf(speak(`[[sandbox refuse=${code}]]`))
    t.match(error, { kind, acceptance, code }, code)
    const inStream = calls.stream(channel, asked(`[[sandbox refuse=${code}]]`, { stream: true }), {
      ...options,
    })
    t.match(await failureOf(inStream), { kind, acceptance, code }, `${code} to a stream`)
  }
  t.match(await failureOf(speak('x', { voice_setting: { voice_id: 'nobodys-voice' } })), {
    code: '2042',
    kind: 'invalid',
  })
  t.match(await failureOf(speak('x', {}, { ...channel, id: 'other', credential: 'wrong' })), {
    kind: 'account',
  })
})

void t.test('a failed exchange has a kind and an acceptance', async (t) => {
  const cases = [
    ['http=503', 'unavailable', 'unknown'],
    ['http=429', 'rate_limited', 'ruled_out'],
    ['drop-after-accept', 'unavailable', 'unknown'],
    ['malformed', 'malformed', 'unknown'],
    ['garbage', 'malformed', 'unknown'],
    ['truncated', 'unavailable', 'unknown'],
    ['bad-http', 'unavailable', 'unknown'],
  ] as const
  for (const [fault, kind, acceptance] of cases)
    t.match(await failureOf(speak(`[[sandbox ${fault}]]`)), { kind, acceptance }, fault)
  t.match(await failureOf(speak('[[sandbox hang-after-accept]]', {}, impatient)), {
    kind: 'timeout',
  })
})

async function streamed(text: string, more: JsonObject = {}, on = channel) {
  const source = await calls.stream(on, asked(text, { stream: true, ...more }), options)
  const chunks: { readonly data: string; readonly terminal: boolean }[] = []
  for (;;) {
    const read = await source.read().catch((error: unknown) => error)
    if (read === undefined || !Array.isArray(read)) return { chunks, error: read, source }
    chunks.push(...(read as typeof chunks))
  }
}

void t.test('a stream is JSON frames, the last one with its usage', async (t) => {
  const setting = { audio_setting: { format: 'mp3' } }
  const { audio } = await speak('x'.repeat(50), setting)
  const { chunks, source, error } = await streamed('x'.repeat(50), setting)
  t.equal(error, undefined)
  const frames = chunks.map(({ data }) => JSON.parse(data))
  const last: { data: { audio: string } } = frames.at(-1)
  t.ok(frames.length > 2)
  t.same(
    chunks.map(({ terminal }) => terminal),
    frames.map((_frame, index) => index === frames.length - 1),
  )
  const pieces = frames.slice(0, -1).map((frame) => String(frame.data.audio))
  t.equal(pieces.join(''), String(audio))
  t.equal(last.data.audio, String(audio), 'and all of it once more')
  t.match(last, {
    data: { status: 2 },
    extra_info: { usage_characters: 50 },
    trace_id: 'req_1',
    base_resp: { status_code: 0 },
  })
  t.match(source.tally(), { finished: true, usage: { character: 50 } })
  const without = await streamed('x'.repeat(50), {
    ...setting,
    stream_options: { exclude_aggregated_audio: true },
  })
  t.match(JSON.parse(without.chunks.at(-1)?.data ?? ''), { data: { audio: '', status: 2 } })
})

void t.test('raw audio is sent once, its last piece held until the end is known', async (t) => {
  const raw: Channel = { ...channel, id: 'raw', settings: { audioMode: 'hex' } }
  const setting = { audio_setting: { format: 'mp3' } }
  const { audio } = await speak('x'.repeat(50), setting)
  for (const exclude_aggregated_audio of [true, false]) {
    const more = { ...setting, stream_options: { exclude_aggregated_audio } }
    const { chunks } = await streamed('x'.repeat(50), more, raw)
    t.equal(chunks.map(({ data }) => data).join(''), String(audio))
    t.same(
      chunks.map(({ terminal }) => terminal),
      chunks.map((_chunk, index) => index === chunks.length - 1),
    )
    t.ok(chunks.at(-1)?.data !== '')
  }
})

void t.test('a stream that breaks off is not a result', async (t) => {
  for (const fault of ['cut-after=1', 'cut-before-usage', 'end-after=1', 'truncated']) {
    const { error, source } = await streamed(`[[sandbox ${fault}]]${'x'.repeat(50)}`)
    t.notOk(source.tally().finished, fault)
    if (fault !== 'end-after=1') t.match(error, { acceptance: 'certain' }, fault)
  }
  const { error } = await streamed(`[[sandbox error-after=1]]${'x'.repeat(50)}`)
  t.match(error, { kind: 'unavailable', acceptance: 'certain', code: '1033' })
  const broken = await streamed(`[[sandbox malformed]]${'x'.repeat(50)}`)
  t.match(broken.error, { kind: 'malformed' })
})

const submission = (text: string) => ({
  model: 'voicer-2.6-hd',
  body: { text, voice_setting: { voice_id: 'male-qn-qingse' } },
  settings: {},
  marker: 'unused',
})

void t.test('a task reports usage when accepted, and its file at its end', async (t) => {
  const created = await tasks.create(channel, submission('你好'), options)
  t.match(created, { nativeId: /^4\d{17}$/, usage: { character: 4 } })
  const { nativeId } = created
  const at = () => tasks.get(channel, nativeId, options)
  t.match(await at(), { nativeId, status: 'running', upstreamStatus: 'Processing' })
  sandbox.advance(3_000)
  const seen = await at()
  t.match(seen, { status: 'succeeded', output: { file_id: /^4\d{17}$/ } })
  const { urls } = seen as { readonly urls?: Readonly<Record<string, string>> }
  const bytes = Buffer.from(await (await fetch(urls?.['download_url'] ?? '')).arrayBuffer())
  t.ok(Math.abs(durationMs('mp3', bytes) - 240) <= 40)
  sandbox.faults.add({ faults: ['http=500'], match: { family: 'speech', op: 'retrieve' } })
  const without = await at()
  t.match(without, { status: 'succeeded' })
  t.notOk('urls' in without, 'the task has ended all the same')
  sandbox.faults.clear()
})

void t.test('every end of a task is distinguished, and a missing task is gone', async (t) => {
  const ends = [
    ['fail=1033', { status: 'failed', error: { code: 'speech_failed' } }],
    ['expire', { status: 'expired' }],
    ['status=Musing running-ms=60000', { status: 'unknown', upstreamStatus: 'Musing' }],
    ['gone', { status: 'gone' }],
  ] as const
  for (const [fault, expected] of ends) {
    const { nativeId } = await tasks.create(channel, submission(`[[sandbox ${fault}]]`), options)
    sandbox.advance(3_000)
    t.match(await tasks.get(channel, nativeId, options), expected, fault)
  }
  t.match(await tasks.get(channel, '1234567890', options), { status: 'gone' })
  const missing = await tasks.create(channel, submission('[[sandbox usage-missing]]'), options)
  t.notOk('usage' in missing)
  t.match(await failureOf(tasks.create(channel, submission('[[sandbox refuse=1026]]'), options)), {
    kind: 'invalid',
    acceptance: 'ruled_out',
    code: '1026',
  })
  t.match(
    await failureOf(tasks.create(channel, submission('[[sandbox drop-after-accept]]'), options)),
    { acceptance: 'unknown' },
  )
})
