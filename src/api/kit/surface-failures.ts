import { SettledRefusal } from '../../app/calls/settled-refusal.ts'
import { type Cost, costOf } from '../../domain/pricing/cost.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { numberDetail, textDetail } from './error-details.ts'
import { failureTable, type FailureCode, type FailureRow } from './failure-table.ts'
import { toRequestError } from './request-error.ts'

interface Named {
  /** As the surface names it. */
  readonly code: string
  /** The field it is about where the error names none. */
  readonly param?: string
}

/** What a surface calls a failure, and where it departs from the table. */
type Entry = string | (Named & Partial<FailureRow>)

/** The failures a surface can meet; any other is a defect of ours and reads `internal`. */
export type SurfaceFailures = Readonly<Partial<Record<FailureCode, Entry>>> & {
  readonly internal: Entry
}

export interface Rule extends FailureRow, Named {}

/** A failure that is read and has no shape yet. */
export interface Failure {
  readonly failure: FailureCode
  readonly rule: Rule
  /** What is said of it. */
  readonly message: string
  /** The offending field, where there is one. */
  readonly param: string | undefined
  /** Milliseconds the table or whoever failed asks to wait. */
  readonly retry: FailureRow['retry']
  /** A detail of the error by its name; an empty text counts as absent. */
  readonly text: (name: string) => string | undefined
  readonly number: (name: string) => number | undefined
  /** What it was settled at, where it was: a refusal may be billed. */
  readonly cost?: Cost | undefined
}

export interface Surface {
  /** What it says of a failure; of one it cannot meet, `internal`. */
  readonly ruleOf: (failure: FailureCode) => Rule
  /** Reads anything thrown on the way of a request; never throws. */
  readonly read: (error: unknown) => Failure
}

function toRule(failure: FailureCode, entry: Entry): Rule {
  const row = failureTable[failure]
  return typeof entry === 'string' ? { ...row, code: entry } : { ...row, ...entry }
}

function isFailureCode(name: string): name is FailureCode {
  return Object.hasOwn(failureTable, name)
}

/** Which failure a domain error is: refusals of the model service go by their kind. */
function failureOf(code: FailureCode, kind: string | undefined): FailureCode {
  if (code !== 'call_refused' && code !== 'submission_refused') return code
  const refused = `refused_${kind ?? ''}`
  return isFailureCode(refused) ? refused : code
}

function paramOf(code: FailureCode, rule: Rule, named: string | undefined): string | undefined {
  return code === 'unknown_model' || code === 'model_not_allowed' ? 'model' : (named ?? rule.param)
}

/** What a surface says of failures, from the table and its own entries. */
export function createSurface(entries: SurfaceFailures): Surface {
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
      const failure = failureOf(error.code, textDetail(error, 'kind'))
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
