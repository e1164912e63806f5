import { placeOf, type LogPosition } from '../../src/eventlog/log/position.ts'
import type { RecordedEvent, SubscriptionMessage } from '../../src/eventlog/log/types.ts'
import type { Batch } from './apply.ts'
import { BEFORE_FIRST } from './checkpoint.ts'

/** Bounds of one batch, and of what is read ahead (one more batch). */
export interface FeedLimits {
  readonly maxEvents: number
  /** Of event data, about as JSON; a single larger event is a separate batch. */
  readonly maxBytes: number
}

export interface FeedBatch extends Batch {
  /** Whether the log had nothing more when this batch was cut. */
  readonly caughtUp: boolean
}

/** Cuts a stream of messages into batches while the previous batch is being applied. */
export interface Feed {
  /** Whatever has arrived, at least one message; undefined at the end. @throws what the log threw. */
  readonly next: () => Promise<FeedBatch | undefined>
  /** Events read and not yet handed out. */
  readonly buffered: () => number
  /** Whether a batch as large as the limits allow has been read. */
  readonly isFull: () => boolean
  /** Ends the reading; waits until the source has ended. */
  readonly close: () => Promise<void>
}

interface Buffer {
  events: { readonly event: RecordedEvent; readonly sizeBytes: number }[]
  sizeBytes: number
  at: LogPosition | undefined
  caughtUp: boolean
}

function emptyBuffer(): Buffer {
  return { events: [], sizeBytes: 0, at: undefined, caughtUp: false }
}

/** A promise that can be resolved from outside, renewed after each use. */
function signalBox(): { readonly wait: () => Promise<void>; readonly wake: () => void } {
  let wake: () => void = () => undefined
  let promise = new Promise<void>((resolve) => (wake = resolve))
  return {
    wait: async () => {
      await promise
      promise = new Promise<void>((resolve) => (wake = resolve))
    },
    wake: () => wake(),
  }
}

/** About how long a value is as JSON, without making it. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (value === null || typeof value !== 'object') return 8
  let sizeBytes = 2
  for (const key of Object.keys(value))
    sizeBytes += key.length + 4 + sizeOf((value as Readonly<Record<string, unknown>>)[key])
  return sizeBytes
}

function put(buffer: Buffer, message: SubscriptionMessage): void {
  switch (message.kind) {
    case 'event': {
      const sizeBytes = sizeOf(message.event.data)
      buffer.events.push({ event: message.event, sizeBytes })
      buffer.sizeBytes += sizeBytes
      buffer.at = placeOf(message.event.position)
      break
    }
    case 'checkpoint':
      buffer.at = message.at
      break
    case 'caughtUp':
      buffer.caughtUp = true
      break
  }
}

/** Takes a batch within the limits out of the buffer; what is left stays in it. */
function take(buffer: Buffer, limits: FeedLimits): { batch: FeedBatch | undefined; rest: Buffer } {
  let count = 0
  let sizeBytes = 0
  for (const item of buffer.events) {
    if (count > 0 && (count >= limits.maxEvents || sizeBytes + item.sizeBytes > limits.maxBytes))
      break
    count += 1
    sizeBytes += item.sizeBytes
  }
  const whole = count === buffer.events.length
  const events = buffer.events.slice(0, count).map(({ event }) => event)
  const last = events.at(-1)
  const at = whole || last === undefined ? buffer.at : placeOf(last.position)
  const rest = whole
    ? emptyBuffer()
    : {
        ...buffer,
        events: buffer.events.slice(count),
        sizeBytes: buffer.sizeBytes - sizeBytes,
      }
  // `caughtUp` alone, before any place, moves nothing; it must still be reported.
  if (at === undefined)
    return { batch: { events, at: BEFORE_FIRST, caughtUp: buffer.caughtUp }, rest }
  return { batch: { events, at, caughtUp: whole && buffer.caughtUp }, rest }
}

/** Starts reading. The source must end when its own signal aborts; `close` only stops taking. */
export function startFeed(
  messages: AsyncIterable<SubscriptionMessage>,
  limits: FeedLimits,
  abort: () => void,
  onFull: () => void = () => undefined,
): Feed {
  let buffer = emptyBuffer()
  const state: { ended: boolean; failure?: { readonly error: unknown } } = { ended: false }
  const filled = signalBox()
  const drained = signalBox()

  const isFull = (): boolean =>
    buffer.events.length >= limits.maxEvents || buffer.sizeBytes >= limits.maxBytes

  const pump = (async () => {
    try {
      for await (const message of messages) {
        if (state.ended) break
        put(buffer, message)
        filled.wake()
        if (isFull()) onFull()
        while (!state.ended && isFull()) await drained.wait()
      }
    } catch (error) {
      state.failure = { error }
    } finally {
      state.ended = true
      filled.wake()
    }
  })()

  return {
    next: async () => {
      for (;;) {
        if (buffer.events.length > 0 || buffer.at !== undefined || buffer.caughtUp) {
          const { batch, rest } = take(buffer, limits)
          buffer = rest
          drained.wake()
          return batch
        }
        if (state.failure) throw state.failure.error
        if (state.ended) return undefined
        await filled.wait()
      }
    },
    buffered: () => buffer.events.length,
    isFull,
    close: async () => {
      state.ended = true
      abort()
      drained.wake()
      filled.wake()
      await pump
    },
  }
}
