import type { Services } from '../../../src/api/kit/services.ts'
import type { CallInput, CompletedCall, StreamedCall } from '../../../src/app/calls/family.ts'
import type { ImageCallInput } from '../../../src/app/calls/images/types.ts'
import type { CallRunner } from '../../../src/app/calls/running-calls.ts'
import type { ImageFrame } from '../../../src/app/ports/images.ts'
import type { Channel } from '../../../src/app/ports/provider.ts'
import type { ImageTaskUseCases } from '../../../src/app/tasks/images/types.ts'
import type {
  SpeechCallInput,
  SpeechFrame,
  SpokenBody,
} from '../../../src/families/speech/calls/family.ts'
import type { TextCallInput, TextFrame } from '../../../src/families/text/calls/types.ts'
import type { Settlement } from '../../../src/domain/pricing/settlement.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import { sandboxSpeechChannels, sandboxTextChannels } from '../../helpers/sandbox-channels.ts'

/** A quote: whatever is asked costs half a dollar. */
export const answered = () =>
  Promise.resolve({
    priceBookVersion: '1',
    currency: 'USD' as const,
    hold: '0.5',
    candidates: [{ sku: 'one', rule: 'a/rule', unit: 'token', price: '0.5', per: 1 as const }],
  })

export type JsonObject = Readonly<Record<string, unknown>>

/** One step of a stream: a frame, or something that happens between frames. */
export type Step = TextFrame | (() => Promise<void> | void)

export function frame(data: object | string, part: Partial<TextFrame> = {}): TextFrame {
  return {
    event: undefined,
    data: typeof data === 'string' ? data : JSON.stringify(data),
    usageOnly: false,
    ...part,
  }
}

/** Calls of text in memory: enough to see what the routes ask and how they answer. */
export class MemoryTexts {
  readonly calls: TextCallInput[] = []
  readonly streams: TextCallInput[] = []
  /** Answer of an unstreamed call. */
  answer: (input: TextCallInput) => JsonObject | Promise<JsonObject> = ({ model }) => ({ model })
  /** What a stream does. */
  steps: (input: TextCallInput) => Iterable<Step> = () => []
  /** Before a stream begins. */
  begin: (input: TextCallInput) => Promise<void> | void = () => undefined
  /** Thrown by every call while set. */
  failure: unknown
  /** The settlement of streams. */
  settled: Settlement | undefined
  /** Streams whose frames were read to their end. */
  finished = 0
  /** What channels serve. */
  readonly models: { readonly id: string; readonly families: readonly string[] }[] = [
    { id: 'text-basic', families: ['chat', 'responses'] },
    { id: 'gen-3-pro', families: ['native'] },
  ]

  complete = async (input: TextCallInput): Promise<CompletedCall<JsonObject>> => {
    this.calls.push(input)
    await Promise.resolve()
    if (this.failure !== undefined) throw this.failure
    return {
      callId: `call_${this.calls.length}`,
      body: await this.answer(input),
      settlement: { priceBookVersion: '1', currency: 'USD', amount: '0', lines: [] },
      measurement: 'reported',
    }
  }

  stream = async (input: TextCallInput): Promise<StreamedCall<TextFrame>> => {
    this.streams.push(input)
    await this.begin(input)
    if (this.failure !== undefined) throw this.failure
    return {
      callId: `call_${this.streams.length}`,
      frames: this.#frames(input),
      settlement: () => this.settled,
    }
  }

  async *#frames(input: TextCallInput): AsyncGenerator<TextFrame> {
    try {
      for (const step of this.steps(input)) {
        if (typeof step === 'function') await step()
        else yield step
      }
    } finally {
      this.finished += 1
    }
  }

  /** The accounts that serve the models. */
  channels(): Services['models']['channels'] {
    const [account] = sandboxTextChannels({ baseUrl: 'http://127.0.0.1:9' })
    if (account === undefined) throw new Error('the sandbox has no account of text')
    const all = () =>
      this.models.flatMap(({ id, families }) =>
        families.map((family) => ({
          ...account,
          id: `${family}-${id}`,
          family,
          models: { [id]: id },
        })),
      )
    return {
      get all() {
        return all()
      },
      byId: (id) => all().find((channel) => channel.id === id),
      serving: ({ family, model }) =>
        all().filter((one) => one.family === family && (model === undefined || one.models[model])),
      choose: (_sharer, { family, model }, excluded) =>
        all().find(
          (one) => one.family === family && one.models[model ?? ''] && !excluded.has(one.id),
        ),
      restingForMs: () => undefined,
      isMerelyFull: () => false,
    }
  }
}

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

  /** Bytes alone for `/v1/audio/speech`. */
  async complete(input: SpeechCallInput): Promise<CompletedCall<SpokenBody | Uint8Array>> {
    await this.#called(input)
    const settlement = { priceBookVersion: '1', currency: 'USD' as const, amount: '0', lines: [] }
    const shown = { extra_info: { usage_characters: 13 } }
    const { form } = this
    const bytes = Buffer.from('49443304', 'hex')
    const spoken = form === 'audio' ? { form, bytes } : { form, audio: '49443304', shown }
    const body = 'spoken' in input ? bytes : spoken
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

/** Image calls in memory: enough to see what the routes ask and how they answer. */
export class MemoryImages {
  readonly calls: ImageCallInput[] = []
  /** Thrown by every call while set. */
  failure: unknown

  async complete(input: ImageCallInput): Promise<CompletedCall<JsonObject>> {
    await Promise.resolve()
    this.calls.push(input)
    if (this.failure !== undefined) throw this.failure
    const settlement = { priceBookVersion: '1', currency: 'USD' as const, amount: '0', lines: [] }
    const body = { created: 1, data: [{ b64_json: 'aGVsbG8=' }] }
    return { callId: 'call_1', body, settlement, measurement: 'reported' }
  }

  async stream(input: ImageCallInput): Promise<StreamedCall<ImageFrame>> {
    await Promise.resolve()
    this.calls.push(input)
    if (this.failure !== undefined) throw this.failure
    const frame = { event: 'image_generation.completed', data: '{}' }
    const frames = (async function* () {
      await Promise.resolve()
      yield frame
    })()
    return { callId: 'call_1', frames, settlement: () => undefined }
  }
}

/** Where there is no storage, nobody has an asynchronous image. */
export const noImageTasks: ImageTaskUseCases = {
  create: () => Promise.reject(new DomainError('storage_not_configured', 'no storage', {})),
  quote: answered,
  get: () => Promise.reject(new DomainError('task_not_found', 'the task does not exist', {})),
}

/** Runs calls in memory: the test gives their answers, in place of a family's upstream. */
export function memoryCalls(
  texts: MemoryTexts,
  speech: MemorySpeech,
  images: MemoryImages,
): CallRunner {
  const memoryOf = ({ family }: CallInput) => {
    if (family === 'speech') return speech
    return ['chat', 'responses', 'native'].includes(family) ? texts : images
  }
  const run = {
    complete: (_family: unknown, input: CallInput) => {
      // No channel has such a model.
      if (input.family === 'audio')
        throw new DomainError('unknown_model', '', { model: input.model })
      return memoryOf(input).complete(input as never)
    },
    stream: (_family: unknown, input: CallInput) => memoryOf(input).stream(input as never),
    quote: answered,
  }
  // The types of a family's bodies are its own.
  return run as unknown as CallRunner
}
