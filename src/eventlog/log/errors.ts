import { DomainError } from '../../kernel/errors.ts'
import type { ExpectedRevision } from './types.ts'

/** Every code the log throws; `details` never carry event data (P7). */
type LogErrorCode =
  | 'log_unavailable'
  | 'log_access_denied'
  | 'log_outcome_unknown'
  | 'wrong_expected_revision'
  | 'append_too_large'
  | 'event_invalid'

export type LogError = DomainError<LogErrorCode>

/** The words for a failure of gRPC, by what its message has; another message stays as it is. */
const words: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  [
    /Name resolution failed for target (?:dns:)?(\S+)/,
    ([, host = '']) => `the host ${host} is not known`,
  ],
  [/connect ECONNREFUSED (\S+?)\.?(?: |$)/, ([, host = '']) => `${host} refuses connections`],
  [
    /wrong version number|packet length too long|EPROTO/,
    () =>
      'the URL asks for TLS and the port does not speak it: set tls=false in EVENTSTORE_URL, or name the port with TLS',
  ],
  [
    /Protocol error/,
    () =>
      'the port does not answer without TLS: remove tls=false from EVENTSTORE_URL if it speaks TLS',
  ],
  [
    /self.signed certificate|unable to verify|unable to get|CERT_|certificate has expired|altnames/i,
    ([found]) =>
      `its certificate is not trusted (${found}): name the authority that signed it by tlsCAFile in EVENTSTORE_URL`,
  ],
]

/** A reason in words, where it is one that an operator can act on. */
export function reasonInWords(reason: string): string {
  for (const [pattern, say] of words) {
    const found = pattern.exec(reason)
    if (found !== null) return say(found)
  }
  return reason
}

/** An error after which certainly nothing was appended, or nothing could be read. */
export function logUnavailable(reason: string): LogError {
  return new DomainError('log_unavailable', 'the event log is unavailable', {
    reason: reasonInWords(reason),
  })
}

/** The log answers, but the gateway's account lacks a right that it needs. */
export function logAccessDenied(account: string, right: string, answer: string): LogError {
  return new DomainError(
    'log_access_denied',
    `the event store refuses the account ${account}: it needs the right to ${right}. ` +
      'Grant it as docs/operations.md shows',
    { account, right, reason: answer },
  )
}

/** The append may or may not be in the log; only the identical append may be tried again. */
export function logOutcomeUnknown(stream: string, tries: number, reason: string): LogError {
  return new DomainError('log_outcome_unknown', 'the event log did not confirm an append in time', {
    stream,
    tries,
    reason,
  })
}

/** Another writer appended first. It is certain that nothing of this append is in the log. */
export function wrongExpectedRevision(
  stream: string,
  expected: ExpectedRevision,
  actual: bigint | 'no_stream' | 'deleted' | 'unknown',
): LogError {
  return new DomainError(
    'wrong_expected_revision',
    'another process appended to the stream first',
    {
      stream,
      expected: String(expected),
      actual: String(actual),
    },
  )
}

/** The append is larger than the log accepts; nothing was appended. */
export function appendTooLarge(stream: string, sizeBytes: number, limitBytes: number): LogError {
  return new DomainError('append_too_large', 'the append is larger than the event log accepts', {
    stream,
    sizeBytes,
    limitBytes,
  })
}

/** An event that does not match its schema, on append or on read. */
export function eventInvalid(details: {
  readonly type: string
  readonly reason: string
  readonly stream?: string
  readonly position?: string
}): LogError {
  const where =
    details.stream === undefined ? '' : ` in ${details.stream} at ${details.position ?? '?'}`
  return new DomainError(
    'event_invalid',
    `event ${details.type}${where} is invalid: ${details.reason}`,
    details,
  )
}
