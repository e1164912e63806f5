import { SettledRefusal } from '../../app/calls/settle.ts'
import { type Cost, costOf } from '../../domain/pricing/settlement.ts'
import { type DomainError, isDomainError } from '../../kernel/errors.ts'
import { costHeaders } from './answer-headers.ts'
import { numberDetail, textDetail } from './observe.ts'
import { type FailureCode, type FailureRow, failureTable } from './failure-table.ts'
import { toRequestError } from './request-error.ts'

interface Named {
  /** As the surface names it. */
  readonly code: string
  /** The field at fault, if the error names none. */
  readonly param?: string
}

/** A surface's name of a failure, and its differences from the table. */
type Entry = string | (Named & Partial<FailureRow>)

/** The failures a surface can meet; any other is a defect of the gateway and reads `internal`. */
export type SurfaceFailures = Readonly<Partial<Record<FailureCode, Entry>>> & {
  readonly internal: Entry
}

export interface Rule extends FailureRow, Named {}

/** A failure before the surface gives it a shape. */
export interface Failure {
  readonly failure: FailureCode
  readonly rule: Rule
  /** Its message. */
  readonly message: string
  /** The offending field, where there is one. */
  readonly param: string | undefined
  /** Milliseconds to wait, from the table or from the failure itself. */
  readonly retry: FailureRow['retry']
  /** A detail of the error by its name; an empty text counts as absent. */
  readonly text: (name: string) => string | undefined
  readonly number: (name: string) => number | undefined
  /** The settlement, if there is one: a refusal may be billed. */
  readonly cost?: Cost | undefined
}

export interface FailureReader {
  /** The surface's entry of a failure; `internal` for one that it does not have. */
  readonly ruleOf: (failure: FailureCode) => Rule
  /** Reads any value that a request threw; never throws. */
  readonly read: (error: unknown) => Failure
}

function toRule(failure: FailureCode, entry: Entry): Rule {
  const row = failureTable[failure]
  return typeof entry === 'string' ? { ...row, code: entry } : { ...row, ...entry }
}

function isFailureCode(name: string): name is FailureCode {
  return Object.hasOwn(failureTable, name)
}

/**
 * Which failure a domain error is: refusals of the model service go by their kind, faults of
 * settings by the setting.
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

/** What the table says of a failure: a surface may answer it with another status. */
export function usualRowOf(error: unknown): FailureRow & { readonly code: FailureCode } {
  const code = isDomainError(error) ? failureOf(error) : toRequestError(error).fault
  return { ...failureTable[code], code }
}

function paramOf(code: FailureCode, rule: Rule, named: string | undefined): string | undefined {
  return code === 'unknown_model' || code === 'model_not_allowed' ? 'model' : (named ?? rule.param)
}

/** A surface's failures, from the table and its own entries. */
export function createFailureReader(entries: SurfaceFailures): FailureReader {
  const internal = toRule('internal', entries.internal)
  const ruleOf = (failure: FailureCode): Rule => {
    const entry = entries[failure]
    return entry === undefined ? internal : toRule(failure, entry)
  }
  const said = (failure: FailureCode, ownWords: string): Pick<Failure, 'rule' | 'message'> => {
    const rule = ruleOf(failure)
    return { rule, message: rule.ownWords === true && ownWords !== '' ? ownWords : rule.words }
  }
  return {
    ruleOf,
    read: (error) => {
      if (!isDomainError(error)) {
        const { fault, message, param } = toRequestError(error)
        const found = said(fault, message)
        const { retry } = found.rule
        const nothing = (): undefined => undefined
        return { ...found, failure: fault, param, retry, text: nothing, number: nothing }
      }
      const failure = failureOf(error)
      const found = said(failure, error.message)
      const { retry } = found.rule
      const askedMs = numberDetail(error, 'retryAfterMs')
      return {
        ...found,
        failure,
        // A defect is about no field.
        param:
          found.rule === internal
            ? undefined
            : paramOf(failure, found.rule, textDetail(error, 'param')),
        retry: typeof retry === 'number' ? (askedMs ?? retry) : retry,
        text: (name) => textDetail(error, name),
        number: (name) => numberDetail(error, name),
        cost: error instanceof SettledRefusal ? costOf(error.settlement) : undefined,
      }
    },
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
  { rule, retry, text, cost }: Failure,
  ofRetry: (retry: Failure['retry']) => Record<string, string> = retryHeaders,
): Record<string, string> {
  const callId = text('callId')
  const platformId = text('platformId')
  return {
    'cache-control': 'no-store',
    ...(rule.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
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
  const { rule, retry } = failure
  if (failure.text('platformId') === undefined || rule.status < 500) return failure
  if (/^(?:refused_|submission_refused)/.test(failure.failure)) return failure
  if (rule.status !== 503 || typeof retry !== 'number') return { ...failure, retry: 'never' }
  const message =
    'The service failed midway; query the task by the x-platform-id of this answer before creating another'
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
  return acceptance === 'ruled_out' || failure.rule.status < 500
    ? failure
    : { ...failure, retry: 'never' }
}
