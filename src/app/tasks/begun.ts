import type { TaskRequest } from '../../domain/task/state.ts'
import type { ChannelLease } from '../channels/directory.ts'

/** A creation whose intent is durable. */
export interface BegunTask {
  readonly request: TaskRequest
  readonly lease: ChannelLease
  /** Of the monotonic clock when the use case began. */
  readonly startedMs: number
}
