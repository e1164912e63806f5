import { SettledRefusal } from '../../../app/calls/settle.ts'
import { type Cost, costOf } from '../../../domain/pricing/settlement.ts'
import { type DomainError, isDomainError } from '../../../kernel/errors.ts'
import { costHeaders } from '../answers/answer-headers.ts'
import { listDetail, numberDetail, textDetail } from '../routes/observe.ts'
import type { FailureRow, FailureStatus } from './failure-row.ts'
import { type FailureCode, failureTable } from './failure-table.ts'
import { RequestError, toRequestError } from '../request-error.ts'

/** A surface's name of a failure, and its differences from the table. */
type FailureEntry =
  | string
  | (Partial<FailureRow> & {
      readonly code: string
      /** The field at fault, if the error names none. */
      readonly param?: string
    })

/** The failures a surface can meet; any other is a defect of the gateway and reads `internal`. */
export type SurfaceFailures = Readonly<Partial<Record<FailureCode, FailureEntry>>> & {
  readonly internal: FailureEntry
}

/** A failure as a surface names it, before its envelope gives it a shape. */
export interface Failure {
  readonly failure: FailureCode
  readonly status: FailureStatus
  /** The surface's name of it; empty where only upstream could give one and gave none. */
  readonly code: string
  /** Message of the failure. */
  readonly message: string
  /** The offending field, where there is one. */
  readonly param: string | undefined
  /** Milliseconds to wait, from the table or from the failure itself. */
  readonly retry: FailureRow['retry']
  /** A detail of the error by its name; an empty text counts as absent. */
  readonly text: (name: string) => string | undefined
  readonly number: (name: string) => number | undefined
  /** A list of facts that the error is about. */
  readonly list: (name: string) => readonly unknown[] | undefined
  /** The settlement, if there is one: a refusal may be billed. */
  readonly cost?: Cost | undefined
}

/** Reads any value that a request threw; never throws. */
export type ReadFailure = (error: unknown) => Failure

function isFailureCode(name: string): name is FailureCode {
  return Object.hasOwn(failureTable, name)
}

const absent = (): undefined => undefined

/**
 * Maps a domain error to a failure: refusals of the model service by their kind, faults of settings
 * by the setting.
 */
function failureOf(error: DomainError): FailureCode {
  const { code } = error
  let name: string = code
  if (code === 'call_refused' || code === 'submission_refused')
    name = `refused_${textDetail(error, 'kind') ?? ''}`
  if (code === 'setting_invalid' || code === 'setting_changed')
    name = code.replace('setting', textDetail(error, 'setting') ?? '')
  return isFailureCode(name) ? name : code
}

/** The row of the table for a failure; a surface may answer it with another status. */
export function usualRowOf(error: unknown): FailureRow & { readonly code: FailureCode } {
  const code = isDomainError(error) ? failureOf(error) : toRequestError(error).fault
  return { ...failureTable[code], code }
}

/** Reads failures by the table and a surface's own entries. */
export function createFailureReader(entries: SurfaceFailures): ReadFailure {
  return (error) => {
    const read = isDomainError(error) ? error : toRequestError(error)
    const failure = read instanceof RequestError ? read.fault : failureOf(read)
    const known = entries[failure]
    const entry = known ?? entries.internal
    const row = failureTable[known === undefined ? 'internal' : failure]
    const named = typeof entry === 'string' ? { ...row, code: entry } : { ...row, ...entry }
    const { status, code, words, ownWords, retry } = named
    const message = ownWords === true && read.message !== '' ? read.message : words
    const found = { failure, status, code, message, retry }
    if (read instanceof RequestError)
      return { ...found, param: read.param, text: absent, number: absent, list: absent }
    const ofModel = failure === 'unknown_model' || failure === 'model_not_allowed'
    const param = ofModel ? 'model' : (textDetail(read, 'param') ?? named.param)
    const askedMs = numberDetail(read, 'retryAfterMs')
    return {
      ...found,
      // A defect is about no field.
      param: known === undefined ? undefined : param,
      retry: typeof retry === 'number' ? (askedMs ?? retry) : retry,
      text: (name) => textDetail(read, name),
      number: (name) => numberDetail(read, name),
      list: (name) => listDetail(read, name),
      cost: read instanceof SettledRefusal ? costOf(read.settlement) : undefined,
    }
  }
}

/** Longest `Retry-After` that the gateway sends: official clients ignore longer ones. */
const MAX_RETRY_AFTER_S = 60

/** Headers of an answer about a retry. */
export function retryHeaders(retry: Failure['retry']): Record<string, string> {
  if (retry === undefined) return {}
  if (retry === 'never') return { 'x-should-retry': 'false' }
  const waitS = Math.max(1, Math.ceil(retry / 1_000))
  return { 'retry-after': String(Math.min(MAX_RETRY_AFTER_S, waitS)) }
}

/** Headers of the answer to a failed creation or call, on every surface. */
export function failureHeaders(
  { status, retry, text, cost }: Failure,
  ofRetry: (retry: Failure['retry']) => Record<string, string> = retryHeaders,
): Record<string, string> {
  const callId = text('callId')
  const platformId = text('platformId')
  return {
    'cache-control': 'no-store',
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    ...ofRetry(retry),
    ...(callId === undefined ? {} : { 'x-call-id': callId }),
    ...(platformId === undefined ? {} : { 'x-platform-id': platformId }),
    ...costHeaders(cost),
  }
}

/** Differences from the table that depend on the circumstances of a failure. */

/**
 * A failure of the gateway once a task has its id: it may have been submitted, so an automatic
 * retry could make a second one. A refusal certainly started nothing.
 */
export function afterAcceptance(failure: Failure): Failure {
  const { status, retry } = failure
  if (failure.text('platformId') === undefined || status < 500) return failure
  if (/^(?:refused_|submission_refused)/.test(failure.failure)) return failure
  if (status !== 503 || typeof retry !== 'number') return { ...failure, retry: 'never' }
  const message =
    'The service failed while it created the task; query it by the x-platform-id of this answer before creating another'
  return { ...failure, message, retry: 'never' }
}

/**
 * A call that failed after it was sent: upstream may have done it, and a retry would do and charge
 * it twice.
 */
export function afterSending(failure: Failure): Failure {
  // The gateway withholds the result, because it could not record it (P3).
  if (failure.failure === 'log_unavailable' && failure.text('callId') !== undefined)
    return {
      ...failure,
      message: 'The call could not be recorded, so its result is withheld',
      retry: 'never',
    }
  // The gateway could not check whether the call still owns its key. Under the key it is safe to
  // try again.
  if (failure.failure === 'database_unavailable' && failure.text('callId') !== undefined)
    return {
      ...failure,
      message:
        'The Idempotency-Key could not be checked, so the result is withheld and not charged',
    }
  const acceptance = failure.text('acceptance') ?? 'ruled_out'
  return acceptance === 'ruled_out' || failure.status < 500
    ? failure
    : { ...failure, retry: 'never' }
}
