import type { ImageTaskUseCases } from '../../../src/app/tasks/images/types.ts'
import { answered } from './memory-quotes.ts'
import { DomainError } from '../../../src/kernel/errors.ts'
import type {
  CompletedImageCall,
  ImageCallInput,
  ImageUseCases,
  StreamedImageCall,
} from '../../../src/app/calls/images/types.ts'

/** Image use cases in memory: enough to see what the routes ask and how they answer. */
export class MemoryImages implements ImageUseCases {
  readonly calls: ImageCallInput[] = []
  /** Thrown by every call while set. */
  failure: unknown

  async make(input: ImageCallInput): Promise<CompletedImageCall> {
    await Promise.resolve()
    this.calls.push(input)
    if (this.failure !== undefined) throw this.failure
    const settlement = { priceBookVersion: '1', currency: 'USD' as const, amount: '0', lines: [] }
    const body = { created: 1, data: [{ b64_json: 'aGVsbG8=' }] }
    return { callId: 'call_1', body, settlement, measurement: 'reported' }
  }

  quote = answered

  async stream(input: ImageCallInput): Promise<StreamedImageCall> {
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

/** Without storage there are no asynchronous images. */
export const noImageTasks: ImageTaskUseCases = {
  create: () => Promise.reject(new DomainError('storage_not_configured', 'no storage', {})),
  quote: answered,
  get: () => Promise.reject(new DomainError('task_not_found', 'the task does not exist', {})),
}
