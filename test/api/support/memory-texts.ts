import type { TextCallInput, TextFrame } from '../../../src/families/text/calls/types.ts'
import type { CompletedCall, StreamedCall } from '../../../src/app/calls/family.ts'
import type { SurfaceServices } from '../../../src/api/kit/surface.ts'
import { sandboxTextChannels } from '../../helpers/sandbox-channels.ts'

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
      settlement: () => undefined,
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
  channels(): SurfaceServices['channels'] {
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
    }
  }
}
