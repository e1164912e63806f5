import type {
  SpeechCallInput,
  SpeechFrame,
  SpokenBody,
} from '../../../src/families/speech/calls/family.ts'
import type { CompletedCall, StreamedCall } from '../../../src/app/calls/family.ts'
import type { Channel } from '../../../src/app/ports/provider.ts'
import { sandboxSpeechChannels } from '../../helpers/sandbox-channels.ts'

type Streamed = StreamedCall<SpeechFrame> & { readonly channel: Channel }

/** Calls of speech in memory: enough to see what the routes ask and how they answer. */
export class MemorySpeech {
  readonly calls: SpeechCallInput[] = []
  /** Thrown by every call while set. */
  failure: unknown
  /** What the account answers. */
  form: SpokenBody['form'] = 'json'
  /** Thrown by a stream after its first frame while set. */
  streamFailure: unknown
  /** Whether a stream comes to its end. */
  whole = true

  async complete(input: SpeechCallInput): Promise<CompletedCall<SpokenBody>> {
    await this.#called(input)
    const settlement = { priceBookVersion: '1', currency: 'USD' as const, amount: '0', lines: [] }
    const shown = { extra_info: { usage_characters: 13 } }
    const body =
      this.form === 'audio'
        ? { form: this.form, bytes: Buffer.from('49443304', 'hex') }
        : { form: this.form, audio: '49443304', shown }
    return { callId: 'call_1', body, settlement, measurement: 'reported' }
  }

  async stream(input: SpeechCallInput): Promise<Streamed> {
    await this.#called(input)
    const { form, streamFailure, whole } = this
    const piece = (audio: string, status: number): string =>
      form === 'audio' ? audio : JSON.stringify({ data: { audio, status } })
    const frames = (async function* () {
      await Promise.resolve()
      yield { data: piece('4944', 1), terminal: false }
      if (streamFailure !== undefined) throw streamFailure
      if (whole) yield { data: piece('3304', 2), terminal: true }
    })()
    const [account] = sandboxSpeechChannels({ baseUrl: 'http://127.0.0.1:9' })
    if (account === undefined) throw new Error('the sandbox has no account of speech')
    const channel: Channel = {
      ...account,
      settings: { audioMode: form === 'audio' ? 'hex' : 'json' },
    }
    return { callId: 'call_1', channel, frames, settlement: () => undefined }
  }

  async #called(input: SpeechCallInput): Promise<void> {
    await Promise.resolve()
    this.calls.push(input)
    if (this.failure !== undefined) throw this.failure
  }
}
