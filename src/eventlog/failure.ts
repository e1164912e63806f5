import { status, type ServiceError } from '@grpc/grpc-js'

/** What a failed try says about the log. */
export type TryFailure =
  | {
      readonly kind: 'transport'
      /** Whether it is certain that this try appended nothing. */
      readonly certain: boolean
      readonly retry: boolean
      readonly reason: string
    }
  | {
      readonly kind: 'wrong_revision'
      readonly actual: bigint | 'no_stream' | 'deleted' | 'unknown'
    }
  | { readonly kind: 'too_large'; readonly limitBytes: number }
  | { readonly kind: 'rejected'; readonly reason: string }

/**
 * Words of a call that never left this process or that the server turned away at the door. An
 * unfamiliar wording only makes the outcome unknown, which is the safe side.
 */
const NEVER_SENT =
  /No connection established|ECONNREFUSED|Name resolution failed|Channel has been shut down|Failed to discover|Server Is Not Ready|Server Is Too Busy/

/** Answers that no further try will change. */
const REFUSED: ReadonlySet<status> = new Set([
  status.UNAUTHENTICATED,
  status.PERMISSION_DENIED,
  status.UNIMPLEMENTED,
])

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error
}

/** Sorts an error of a call to the log. */
export function failureOf(error: unknown): TryFailure {
  const reason = error instanceof Error ? error.message.slice(0, 300) : String(error)
  if (!isServiceError(error))
    return { kind: 'transport', certain: NEVER_SENT.test(reason), retry: true, reason }
  const word = (name: string) => error.metadata?.get(name)[0]?.toString()
  const exception = word('exception')
  if (exception === 'not-leader') return { kind: 'transport', certain: true, retry: true, reason }
  if (exception === 'access-denied' || REFUSED.has(error.code))
    return { kind: 'transport', certain: true, retry: false, reason }
  if (exception === 'wrong-expected-version') {
    const actual = word('actual-version') ?? ''
    return { kind: 'wrong_revision', actual: /^\d+$/.test(actual) ? BigInt(actual) : 'no_stream' }
  }
  if (exception === 'stream-deleted') return { kind: 'wrong_revision', actual: 'deleted' }
  if (exception === 'maximum-append-size-exceeded')
    return { kind: 'too_large', limitBytes: Number(word('maximum-append-size') ?? 0) }
  if (error.code === status.INVALID_ARGUMENT) return { kind: 'rejected', reason }
  return { kind: 'transport', certain: NEVER_SENT.test(reason), retry: true, reason }
}
