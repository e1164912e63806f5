import { DomainError } from '../kernel/errors.ts'

/** Why a store could not do what it was asked for. */
type StorageTrouble =
  /** It gave no usable answer, or none in time. */
  | 'away'
  | 'full'
  /**
   * It refuses the gateway's account, or has no such bucket or folder: the operator has to correct
   * it.
   */
  | 'refused'

/** `cause` holds the inner failure, for the log alone. */
export function storageUnavailable(trouble: StorageTrouble, cause: unknown): DomainError {
  const error = new DomainError('storage_unavailable', `Object storage is ${trouble}`, { trouble })
  error.cause = cause
  return error
}

export function objectTooLarge(limitBytes: number): DomainError {
  const most = `An object may have ${limitBytes} bytes at most`
  return new DomainError('object_too_large', most, { limitBytes })
}

/** A body that ended before, or went on after, its declared size. */
export class IncompleteBodyError extends Error {
  override readonly name = 'IncompleteBodyError'

  constructor(sizeBytes: number, saidBytes: number) {
    super(`the body has ${sizeBytes} bytes, not the ${saidBytes} it was said to have`)
  }
}
