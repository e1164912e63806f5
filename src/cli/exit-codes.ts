/** Exit codes of the program, for its supervisor; docs/operations.md lists them. */
export const exitCodes = {
  inOrder: 0,
  failed: 1,
  /** An unexpected failure. */
  defect: 70,
  /** A new process can go on: the log lacks events that this one remembers, or the machine slept. */
  startAgain: 75,
  /** The data, or the database, is of a newer release. */
  newer: 76,
  /** A store refuses the gateway's account: a restart fails until the operator corrects it. */
  denied: 77,
  /** The configuration, the secret, the log or the database is wrong: a restart fails as well. */
  refused: 78,
} as const

/** Postgres: no such account or a wrong password, and a right that the account lacks. */
const DENIED: ReadonlySet<unknown> = new Set(['28000', '28P01', '42501', 'log_access_denied'])
/** Errors by name that the operator has to correct first. */
const REFUSED: ReadonlySet<string> = new Set([
  'ConfigError',
  'ChannelFileError',
  'UnpricedModelsError',
  'MarkerSecretError',
  'LogOlderError',
  'NotBelongingError',
])
const MAX_DEPTH = 4

/** By name or code: the module of the error need not be loaded here. */
export function exitCodeOf(error: unknown, depth = 0): number {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return exitCodes.failed
  if (REFUSED.has(error.name)) return exitCodes.refused
  const code = 'code' in error ? error.code : undefined
  if (code === 'data_dir_newer') return exitCodes.newer
  if (code === 'data_dir_unwritable' || code === 'data_dir_invalid') return exitCodes.refused
  // A password that is asked for and is not in the URL has no code.
  if (DENIED.has(code) || error.message.startsWith('SASL: ')) return exitCodes.denied
  return exitCodeOf(error.cause, depth + 1)
}
