import { catalog } from '../../../../src/families/index.ts'
import { Buffer } from 'node:buffer'
import t from 'tap'
import { startSandbox } from '../../../../infra/sandbox/server.ts'
import { sandboxChannels } from '../../../../src/app/channels/sandbox.ts'
import type { CloneOrder } from '../../../../src/families/speech/ports.ts'
import { type Channel, ProviderError } from '../../../../src/app/ports/provider.ts'
import { createMediaProvider } from '../../../../src/families/kit/media/files.ts'
import { createCloneProvider } from '../../../../src/families/speech/upstream/client.ts'
import { speech } from '../../../../src/families/speech/module.ts'

const sandbox = await startSandbox()
t.teardown(() => sandbox.close())
const [files, clones] = [createMediaProvider(), createCloneProvider()]
t.teardown(() => Promise.all([files.close(), clones.close()]))
const [channel] = sandboxChannels(catalog, speech.sandbox, {
  baseUrl: sandbox.url,
  timeoutMs: 2_000,
}) as [Channel]
const options = { signal: new AbortController().signal, requestId: 'req_1' }
let names = 0

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const text of texts) yield await Promise.resolve(Buffer.from(text))
}
const upload = (filename: string, body = pieces('ID3', ' a ', 'sample')) =>
  files.upload(channel, { purpose: 'voice_clone', filename, body }, options)

async function orderOf(text: string, more: Partial<CloneOrder> = {}): Promise<CloneOrder> {
  const { upstreamFileId } = await upload('me.mp3')
  return {
    upstreamVoiceId: `voice-${(names += 1)}-name`,
    upstreamFileId,
    promptUpstreamFileId: undefined,
    promptText: undefined,
    audition: { upstreamModel: 'voicer-2.8-hd', text },
    settings: {},
    ...more,
  }
}
const clone = async (text: string, more?: Partial<CloneOrder>) =>
  clones.clone(channel, await orderOf(text, more), options)

async function failing(work: Promise<unknown>): Promise<ProviderError> {
  try {
    await work
  } catch (error) {
    if (error instanceof ProviderError) return error
    throw error
  }
  throw new Error('it did not fail')
}

void t.test('ids keep every digit in both directions', async (t) => {
  const ids = [await upload('a.mp3'), await upload('b "quoted".wav')]
  for (const { upstreamFileId } of ids) t.not(String(Number(upstreamFileId)), upstreamFileId)
  const { upstreamFileId } = await files.upload(
    channel,
    { purpose: 'prompt_audio', filename: 'p.mp3', body: pieces('ID3') },
    options,
  )
  const prompt = { promptUpstreamFileId: upstreamFileId, promptText: 'a "quoted" text' }
  const answer = await clone('早 ok', { ...prompt, settings: { accuracy: 0.5 } })
  t.match(answer, { characters: 5, demoAudio: /^http/, inputSensitive: undefined })
  t.type(answer.upstreamRequestId, 'string')
  const [sent] = sandbox.requestLog().filter(({ route }) => route === 'speech.clone')
  t.match(sent?.body, { accuracy: 0.5, clone_prompt: { prompt_text: 'a "quoted" text' } })
})

void t.test('the flags of a sample are read in either form', async (t) => {
  const of = async (switches: string) => (await clone(`[[sandbox ${switches}]]`)).inputSensitive
  t.equal(await of('input-sensitive=6'), 6)
  t.equal(await of('input-sensitive=6 sensitive-flag'), 6)
  t.equal(await of('sensitive-flag'), undefined)
  t.equal((await clone('[[sandbox no-usage]]')).characters, undefined)
  t.equal((await clone('[[sandbox tokens=0]]')).characters, 0)
})

const failures = [
  ['refuse=2039', 'invalid', 'ruled_out', '2039'],
  ['refuse=2037', 'invalid', 'ruled_out', '2037'],
  ['refuse=1002', 'rate_limited', 'ruled_out', '1002'],
  ['refuse=1004', 'account', 'ruled_out', '1004'],
  ['refuse=2038', 'account', 'ruled_out', '2038'],
  ['refuse=1001', 'timeout', 'unknown', '1001'],
  ['refuse=1000', 'unavailable', 'unknown', '1000'],
  ['http=502', 'unavailable', 'unknown', undefined],
  ['drop-after-accept', 'unavailable', 'unknown', undefined],
  ['hang', 'timeout', 'unknown', undefined],
  ['malformed', 'malformed', 'unknown', undefined],
  ['truncated', 'unavailable', 'unknown', undefined],
  ['garbage', 'malformed', 'unknown', undefined],
  ['bad-http', 'unavailable', 'unknown', undefined],
] as const

for (const [fault, kind, acceptance, code] of failures)
  void t.test(`a clone and an upload under ${fault}: ${kind}, ${acceptance}`, async (t) => {
    const [ofClone, ofUpload] = await Promise.all([
      failing(clone(`hi [[sandbox ${fault}]]`)),
      failing(upload(`[[sandbox ${fault}]].mp3`)),
    ])
    t.match(ofClone, { kind, acceptance, code })
    t.match(ofUpload, { kind, acceptance, code })
    t.notMatch(ofClone.message, /minimax|sandbox/i)
  })

void t.test('a body that ends in an error ends the upload', async (t) => {
  const body = (async function* () {
    yield* pieces('ID3')
    throw new Error('the caller has gone')
  })()
  t.equal((await failing(upload('gone.mp3', body))).kind, 'unavailable')
  const taken = sandbox.requestLog().some(({ body }) => String(body).includes('gone.mp3'))
  t.notOk(taken, 'nothing of it arrived')
})
