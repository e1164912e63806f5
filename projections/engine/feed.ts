import { placeOf, type LogPosition } from '../../src/eventlog/log/position.ts'
import type { RecordedEvent, SubscriptionMessage } from '../../src/eventlog/log/types.ts'
import type { Batch } from './apply.ts'
import { BEFORE_FIRST } from './checkpoint.ts'

/** Bounds of one batch, and of the events that are read ahead (one more batch). */
export interface FeedLimits {
  readonly maxEvents: number
  /** The size of event data, about as JSON; a single larger event is a separate batch. */
  readonly maxBytes: number
}

export interface FeedBatch extends Batch {
  /** Whether the log had no further events when this batch was cut. */
  readonly caughtUp: boolean
}

/**
 * The events for one subscription group, in batches that are cut while the previous one is being
 * applied.
 */
export interface BatchReader {
  /**
   * All messages that have arrived, at least one; undefined at the end. @throws the failure of the
   * log
   */
  readonly next: () => Promise<FeedBatch | undefined>
  /** Events read and not yet handed out. */
  readonly buffered: () => number
  /** Whether a batch as large as the limits allow has been read. */
  readonly isFull: () => boolean
}

/** The messages of one subscription. It reads no further while a whole batch waits. */
export interface Feed extends BatchReader {
  /** The position of the last event that was read, or where the subscription began. */
  readonly readThrough: () => bigint
  /**
   * A second reader of the messages that arrive from now on, already decoded; undefined when the
   * feed has ended. It never delays the feed: if it is full and more arrives, it returns its
   * messages and ends.
   */
  readonly share: () => BatchReader | undefined
  /** Ends the reading; waits until the source has ended. */
  readonly close: () => Promise<void>
}

interface FeedStart {
  /** Position at which events begin; the subscription leaves out earlier ones. */
  readonly from: bigint
  readonly abort: () => void
  readonly onFull?: () => void
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

/** Takes a batch within the limits out of the buffer; the rest stays in it. */
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
  // `caughtUp` alone, before any position, moves nothing; it must still be reported.
  if (at === undefined)
    return { batch: { events, at: BEFORE_FIRST, caughtUp: buffer.caughtUp }, rest }
  return { batch: { events, at, caughtUp: whole && buffer.caughtUp }, rest }
}

/** Gathers messages for one reader. */
class Batches implements BatchReader {
  readonly #limits: FeedLimits
  readonly #onFull: () => void
  readonly #filled = signalBox()
  readonly #drained = signalBox()
  #buffer = emptyBuffer()
  #ended = false
  #failure: { readonly error: unknown } | undefined

  constructor(limits: FeedLimits, onFull: () => void) {
    this.#limits = limits
    this.#onFull = onFull
  }

  readonly next = async (): Promise<FeedBatch | undefined> => {
    for (;;) {
      const buffer = this.#buffer
      if (buffer.events.length > 0 || buffer.at !== undefined || buffer.caughtUp) {
        const { batch, rest } = take(buffer, this.#limits)
        this.#buffer = rest
        this.#drained.wake()
        return batch
      }
      if (this.#failure) throw this.#failure.error
      if (this.#ended) return undefined
      await this.#filled.wait()
    }
  }

  readonly buffered = (): number => this.#buffer.events.length

  readonly isFull = (): boolean => {
    const { events, sizeBytes } = this.#buffer
    return events.length >= this.#limits.maxEvents || sizeBytes >= this.#limits.maxBytes
  }

  get hasEnded(): boolean {
    return this.#ended
  }

  put(message: SubscriptionMessage): void {
    put(this.#buffer, message)
    this.#filled.wake()
    if (this.isFull()) this.#onFull()
  }

  async untilRoom(): Promise<void> {
    while (!this.#ended && this.isFull()) await this.#drained.wait()
  }

  /** Messages in the buffer are still handed out. */
  end(failure?: { readonly error: unknown }): void {
    this.#ended = true
    this.#failure ??= failure
    this.#drained.wake()
    this.#filled.wake()
  }
}

/**
 * Starts reading a subscription that begins behind `from`. The source must end when `abort` is called; `close` only
 * stops taking. `onFull` is called when a whole batch waits for a reader.
 */
export function startFeed(
  messages: AsyncIterable<SubscriptionMessage>,
  limits: FeedLimits,
  { from, abort, onFull = () => undefined }: FeedStart,
): Feed {
  const own = new Batches(limits, onFull)
  let shared: readonly Batches[] = []
  let readThrough = from

  const pump = (async () => {
    let failure: { readonly error: unknown } | undefined
    try {
      for await (const message of messages) {
        if (own.hasEnded) break
        if (message.kind === 'event') readThrough = message.event.position
        own.put(message)
        for (const reader of shared)
          if (reader.isFull()) reader.end()
          else reader.put(message)
        shared = shared.filter((reader) => !reader.hasEnded)
        await own.untilRoom()
      }
    } catch (error) {
      failure = { error }
    } finally {
      for (const reader of [own, ...shared]) reader.end(failure)
    }
  })()

  return {
    next: own.next,
    buffered: own.buffered,
    isFull: own.isFull,
    readThrough: () => readThrough,
    share: () => {
      if (own.hasEnded) return undefined
      const reader = new Batches(limits, onFull)
      shared = [...shared, reader]
      return reader
    },
    close: async () => {
      own.end()
      abort()
      await pump
    },
  }
}
