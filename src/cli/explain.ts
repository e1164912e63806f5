import { isDomainError } from '../kernel/errors.ts'

/** Errors whose message is meant for the operator, by name: their modules need not be loaded here. */
const forOperators: ReadonlySet<string> = new Set([
  'CommandError',
  'UsageError',
  'ConfigError',
  'ChannelFileError',
  'UnpricedModelsError',
  'DataDirError',
  'ChildFailedError',
  'MarkerSecretError',
  'LogOlderError',
  'NotBelongingError',
  'NotMigratedError',
  'NotVerifiedError',
])

/** Postgres: a damaged page of a table (`data_corrupted`) or of an index. */
const DAMAGED: ReadonlySet<unknown> = new Set(['XX001', 'XX002'])

/**
 * A failure that the operator can act on becomes one message; any other is a defect and keeps its
 * stack.
 */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'EADDRINUSE')
    return `${error.message}: another program uses this port; set ${portVariableOf(error)} to a free one`
  if ('code' in error && DAMAGED.has(error.code))
    return `the files of Postgres are damaged: ${error.message}; docs/backup.md says how to build it from the log`
  if (isForOperators(error)) return messageOf(error)
  return error.stack ?? error.message
}

/** Whether the message of a failure is all that the operator needs. */
export function isForOperators(error: unknown): boolean {
  return isDomainError(error) || (error instanceof Error && isOperational(error))
}

/** The variable of a port that `listenOn` could not take. */
function portVariableOf(error: Error): string {
  return 'variable' in error && typeof error.variable === 'string' ? error.variable : 'PORT'
}

function isOperational(error: Error): boolean {
  // Errors of the operating system, or of Postgres.
  return forOperators.has(error.name) || 'syscall' in error || 'severity' in error
}

function withReason(message: string, reason: unknown): string {
  return typeof reason === 'string' && reason !== '' ? `${message}: ${reason}` : message
}

/** The words of an error; a host with several addresses fails once for each. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(messageOf).join('; ')
  if (isDomainError(error)) return withReason(error.message, error.details['reason'])
  return error instanceof Error ? error.message : String(error)
}
