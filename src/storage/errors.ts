import { DomainError } from '../kernel/errors.ts'

/** Why a store failed. */
type StorageTrouble =
  /** The store gave no usable answer, or none in time. */
  | 'away'
  | 'full'
  /** The stored object differs from what was written. */
  | 'damaged'
  /**
   * The store refuses the gateway's account, or the bucket or folder does not exist: the operator
   * must correct this.
   */
  | 'refused'

/** `cause` holds the inner failure, for the log only. */
export function storageUnavailable(trouble: StorageTrouble, cause: unknown): DomainError {
  const error = new DomainError('storage_unavailable', `Object storage is ${trouble}`, { trouble })
  error.cause = cause
  return error
}

export function objectTooLarge(limitBytes: number): DomainError {
  const most = `An object may have ${limitBytes} bytes at most`
  return new DomainError('object_too_large', most, { limitBytes })
}

/** A body that is shorter or longer than its declared size. */
export class IncompleteBodyError extends Error {
  override readonly name = 'IncompleteBodyError'

  constructor(sizeBytes: number, saidBytes: number) {
    super(`the body has ${sizeBytes} bytes, not the ${saidBytes} it was said to have`)
  }
}
