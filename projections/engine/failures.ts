/**
 * Another process moved this checkpoint, so this one is no longer the leader. Nothing of the batch
 * was stored.
 */
export class CheckpointMovedError extends Error {
  override readonly name = 'CheckpointMovedError'

  constructor(projection: string) {
    super(`the checkpoint of ${projection} was moved by another`)
  }
}

/** Why a projection is stopped until an operator acts: a ledger never skips. */
export interface StopReason {
  readonly kind: 'cannot_apply' | 'newer_version' | 'rebuild_failed' | 'log_older'
  readonly reason: string
  /** Decimal position, id and type of the event that could not be applied; absent otherwise. */
  readonly position?: string
  readonly eventId?: string
  readonly type?: string
  /** RFC 3339. */
  readonly at: string
}

/**
 * SQLSTATE classes that the event does not cause: connection, resources, operator intervention,
 * rollback for concurrency, object in use, system. Everything else is the event's or the code's.
 */
const TRANSIENT_CLASSES = new Set(['08', '40', '53', '55', '57', '58', '25'])

const TRANSIENT_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  // The queue of a socket file is full.
  'EAGAIN',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'log_unavailable',
  'log_outcome_unknown',
])

/** Whether a failure may pass by itself: the same events are tried again after a pause. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof CheckpointMovedError) return true
  // The socket file of a server that is being started again.
  if ('code' in error && error.code === 'ENOENT' && Reflect.get(error, 'syscall') === 'connect')
    return true
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code) && !TRANSIENT_CODES.has(code))
    return TRANSIENT_CLASSES.has(code.slice(0, 2))
  if (code !== undefined) return TRANSIENT_CODES.has(code)
  // The driver's own failures carry no code.
  return /connection terminated|client has encountered a connection error|not queryable|timeout exceeded|query read timeout|cannot use a pool after/i.test(
    error.message,
  )
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
