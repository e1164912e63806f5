import { status, type ServiceError } from '@grpc/grpc-js'
import { NeverSentError } from './client-internals.ts'

/** Says what a failed attempt shows about the log. */
export type TryFailure =
  | {
      readonly kind: 'transport'
      /** Whether it is certain that this attempt appended nothing. */
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
  /** The requested data is damaged in the store. Nothing was appended. */
  | { readonly kind: 'damaged'; readonly reason: string }
  /** The server refused the gateway's account. Nothing was appended. */
  | { readonly kind: 'denied'; readonly reason: string }

/**
 * Messages of a call that never left this process or that the server refused before it read it. An
 * unfamiliar message only makes the outcome unknown, which is safe.
 */
const NEVER_SENT =
  /No connection established|ECONNREFUSED|Name resolution failed|Channel has been shut down/

/**
 * The end of a call's message when its deadline came before it had a connection. A call that had an
 * earlier attempt says so before it, and may have been sent.
 */
const NEVER_CONNECTED = /waiting for (?:name resolution|metadata filters|LB pick)$/i
const HAD_AN_ATTEMPT = /previous attempts/

function wasNeverSent(reason: string): boolean {
  return NEVER_SENT.test(reason) || (NEVER_CONNECTED.test(reason) && !HAD_AN_ATTEMPT.test(reason))
}

/** Messages of a node that refuses an append before it does anything with it. */
const NOT_TAKEN = /Server Is (Not Ready|Busy|Too Busy)|No leader info|NotHandledReason/

/** The codes of them that mean that another node is leader, now or soon. */
const ELSEWHERE = /Server Is Not Ready|No leader info/

/** Whether an answer says that the node did not accept the append. */
export function isNotAccepted(reason: string): boolean {
  return NOT_TAKEN.test(reason)
}

/** Whether an answer says that this node does not, or no longer, lead. */
export function isWrongNode(reason: string): boolean {
  return ELSEWHERE.test(reason)
}

/**
 * The outcome of an attempt that was written to a shared call which has ended. The server may have
 * ended it because of another try, and may still carry this one out: only a call that reached no
 * server, or one whose account or method was refused before the server read from it, certainly
 * appended nothing.
 */
export function failureOfSentTry(error: unknown, wasAnswered: boolean): TryFailure {
  const failure = failureOf(error)
  const isUnread =
    failure.kind === 'denied' ||
    (failure.kind === 'transport' && (wasNeverSent(failure.reason) || !failure.retry))
  return !wasAnswered && isUnread
    ? failure
    : { kind: 'transport', certain: false, retry: true, reason: reasonOf(error) }
}

/**
 * The outcome of an attempt that was not written to a shared call which has ended: it appended
 * nothing.
 */
export function failureOfUnsentTry(error: unknown): TryFailure {
  const failure = failureOf(error)
  if (failure.kind === 'denied') return failure
  // Every other certain outcome belongs to an attempt that was written.
  const retry = failure.kind !== 'transport' || failure.retry
  return { kind: 'transport', certain: true, retry, reason: reasonOf(error) }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 300) : String(error)
}

const DENIED: ReadonlySet<status> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED])

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'metadata' in error
}

/** Sorts an error of a call to the log. */
export function failureOf(error: unknown): TryFailure {
  const reason = reasonOf(error)
  if (error instanceof NeverSentError)
    return { kind: 'transport', certain: true, retry: true, reason }
  if (!isServiceError(error))
    return { kind: 'transport', certain: wasNeverSent(reason), retry: true, reason }
  const word = (name: string) => error.metadata?.get(name)[0]?.toString()
  const exception = word('exception')
  if (exception === 'not-leader') return { kind: 'transport', certain: true, retry: true, reason }
  if (exception === 'access-denied' || DENIED.has(error.code)) return { kind: 'denied', reason }
  if (error.code === status.UNIMPLEMENTED)
    return { kind: 'transport', certain: true, retry: false, reason }
  if (exception === 'wrong-expected-version') {
    const actual = word('actual-version') ?? ''
    return { kind: 'wrong_revision', actual: /^\d+$/.test(actual) ? BigInt(actual) : 'no_stream' }
  }
  if (exception === 'stream-deleted') return { kind: 'wrong_revision', actual: 'deleted' }
  if (exception === 'maximum-append-size-exceeded')
    return { kind: 'too_large', limitBytes: Number(word('maximum-append-size') ?? 0) }
  if (error.code === status.INVALID_ARGUMENT) return { kind: 'rejected', reason }
  if (error.code === status.DATA_LOSS) return { kind: 'damaged', reason }
  const certain = wasNeverSent(reason) || isNotAccepted(reason)
  return { kind: 'transport', certain, retry: true, reason }
}
