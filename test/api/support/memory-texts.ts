import type {
  CompletedTextCall,
  StreamedTextCall,
  TextCallInput,
  TextFrame,
  TextUseCases,
} from '../../../src/app/calls/text/types.ts'
import type { Principal } from '../../../src/app/access/principal.ts'

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

/** Text use cases in memory: enough to see what the routes ask and how they answer. */
export class MemoryTexts implements TextUseCases {
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
  models: { id: string; createdAtMs: number; families: readonly string[] }[]

  constructor(nowMs: number) {
    this.models = [
      { id: 'text-basic', createdAtMs: nowMs, families: ['chat', 'responses'] },
      { id: 'gen-3-pro', createdAtMs: nowMs, families: ['native'] },
    ]
  }

  complete = async (input: TextCallInput): Promise<CompletedTextCall> => {
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

  stream = async (input: TextCallInput): Promise<StreamedTextCall> => {
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

  listModels = async (principal: Principal) =>
    Promise.resolve(
      this.models.filter(({ id }) => principal.models === undefined || principal.models.has(id)),
    )
}
