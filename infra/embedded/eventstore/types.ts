/** Requests of the protocol side to the log, and its answers. */

/** The revision a writer believes a stream to be at. */
export type ExpectedRevision =
  | { readonly kind: 'any' }
  | { readonly kind: 'no_stream' }
  | { readonly kind: 'stream_exists' }
  | {
      readonly kind: 'revision'
      readonly revision: number
      /**
       * Text of the caller, to be repeated in a refusal: numbers end at 2^53, revisions at 2^64.
       */
      readonly text: string
    }

/** An event before it has a place in the log. `id` is a lower-case UUID. */
export interface ProposedEvent {
  readonly id: string
  readonly type: string
  readonly isJson: boolean
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

interface Command {
  readonly stream: string
  readonly expected: ExpectedRevision
  /** True once the caller no longer waits for the answer: the log then drops a queued command. */
  readonly isAbandoned: () => boolean
}

/** A change to one stream. */
export type StreamCommand =
  | (Command & {
      readonly kind: 'append'
      readonly events: readonly ProposedEvent[]
      readonly sizeBytes: number
    })
  | (Command & { readonly kind: 'delete' })
  | (Command & { readonly kind: 'tombstone' })

/** Outcome of a command. Revisions are -1 for a stream without events. */
export type CommandOutcome =
  | {
      readonly kind: 'done'
      readonly revision: number
      /** Position of the last event; absent if nothing was written and none is known. */
      readonly position: number | undefined
    }
  | { readonly kind: 'wrong_expected_revision'; readonly current: number }
  | { readonly kind: 'stream_deleted' }

/**
 * Why a command has no outcome.
 * - `queue_full`, `not_writable`, `closing`, `abandoned`: nothing was written.
 * - `write_failed`: unknown; the identical command may be sent again.
 * - `unsupported`: the request needs something this store does not have.
 * - `damaged`: what it needs is not as it was written; nothing was written.
 */
type LogErrorCode =
  | 'queue_full'
  | 'not_writable'
  | 'closing'
  | 'abandoned'
  | 'write_failed'
  | 'unsupported'
  | 'damaged'

/** A command or read that the log could not carry out. */
export class LogError extends Error {
  override readonly name = 'LogError'
  readonly code: LogErrorCode

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Why a data directory could not be opened. */
type OpenErrorCode = 'locked' | 'newer_format' | 'corrupt' | 'unusable'

/** The data directory cannot be used; the message says what to do. */
export class OpenError extends Error {
  override readonly name = 'OpenError'
  readonly code: OpenErrorCode

  constructor(code: OpenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Taken around every append; a server has none unless the process that starts it brings them, as tests do. */
export interface AppendHooks {
  readonly beforeAppend?: () => Promise<void>
  /** True if this append, though durable, is not answered. */
  readonly loseAcknowledgement?: () => boolean
}
