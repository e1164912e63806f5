import { eventsThrough, type LogPosition } from '../../../src/eventlog/log/position.ts'
import type {
  EventLog,
  ReadAllOptions,
  ReadOptions,
  RecordedEvent,
  SubscriptionMessage,
} from '../../../src/eventlog/log/types.ts'

interface SubscribeOptions {
  readonly from?: LogPosition
  readonly signal: AbortSignal
}

/** A log that only reads, over events at hand: what projections see of the real one. */
export class ScriptedLog implements EventLog {
  readonly events: RecordedEvent[] = []
  /** Positions of other namespaces' events that went by. */
  subscriptions = 0
  /** Subscriptions that are read at the moment. */
  reading = 0
  /** Thrown by the next subscription after so many messages. */
  breakAfter: number | undefined
  #wake: (() => void)[] = []
  readonly #checkpoints: LogPosition[] = []

  constructor(events: readonly RecordedEvent[] = []) {
    this.events.push(...events)
  }

  push(...events: readonly RecordedEvent[]): void {
    this.events.push(...events)
    this.#wakeAll()
  }

  /** Other namespaces' events went by up to this position. */
  pass(at: LogPosition): void {
    this.#checkpoints.push(at)
    this.#wakeAll()
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake()
  }

  async *readAll(options: ReadAllOptions = {}): AsyncGenerator<RecordedEvent> {
    const from = options.from === undefined ? -1n : eventsThrough(options.from)
    await Promise.resolve()
    for (const event of this.events.slice()) if (event.position > from) yield event
  }

  endPosition = async (): Promise<bigint | undefined> =>
    Promise.resolve(this.events.at(-1)?.position)

  async *subscribe(options: SubscribeOptions): AsyncGenerator<SubscriptionMessage> {
    this.reading += 1
    try {
      yield* this.#messages(options)
    } finally {
      this.reading -= 1
    }
  }

  async *#messages(options: SubscribeOptions): AsyncGenerator<SubscriptionMessage> {
    this.subscriptions += 1
    options.signal.addEventListener('abort', () => this.#wakeAll(), { once: true })
    let position = options.from === undefined ? -1n : eventsThrough(options.from)
    let index = 0
    let sent = 0
    let told = false
    while (!options.signal.aborted) {
      const event = this.events[index]
      if (event !== undefined) {
        index += 1
        if (event.position <= position) continue
        position = event.position
        yield { kind: 'event', event }
        sent += 1
        if (this.breakAfter !== undefined && sent >= this.breakAfter) {
          this.breakAfter = undefined
          throw Object.assign(new Error('the log went away'), { code: 'log_unavailable' })
        }
        continue
      }
      if (!told) {
        told = true
        yield { kind: 'caughtUp' }
        continue
      }
      const checkpoint = this.#checkpoints.shift()
      if (checkpoint !== undefined) {
        yield { kind: 'checkpoint', at: checkpoint }
        continue
      }
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
  }

  append = async (): Promise<never> => Promise.reject(new Error('this log only reads'))
  readStream = async (
    stream: string,
    { from = 0n, limit = Number.MAX_SAFE_INTEGER }: ReadOptions = {},
  ): Promise<readonly RecordedEvent[]> => {
    const events = this.events.filter((event) => event.stream === stream && event.revision >= from)
    return Promise.resolve(events.slice(0, limit))
  }
  healthy = (): boolean => true
  ready = async (): Promise<void> => Promise.resolve()
  passed = (): void => undefined
  denial = (): undefined => undefined
  checkAccess = async (): Promise<undefined> => Promise.resolve(undefined)
  close = async (): Promise<void> => Promise.resolve()
}
