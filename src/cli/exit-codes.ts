/** Exit codes of every command, for its supervisor and for scripts. */
export const exitCodes = {
  inOrder: 0,
  failed: 1,
  usage: 2,
  notVerified: 3,
  defect: 70,
  startAgain: 75,
  newer: 76,
  denied: 77,
  refused: 78,
} as const

/** The meaning of each exit code; `--help` and docs/operations.md show it. */
export const exitCodeMeanings: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.inOrder, 'done; `serve`: stopped in order, on a signal'],
  [
    exitCodes.failed,
    'the command found something or failed; `serve`: a part failed repeatedly, a port is taken, stopping took too long, or a second signal came',
  ],
  [exitCodes.usage, 'an unknown command, option or role, or a wrong argument'],
  [exitCodes.notVerified, '`verify`: a file does not verify'],
  [
    exitCodes.defect,
    'an uncaught error, a defect: logged as `fatal` with its stack; other replicas take over its work',
  ],
  [
    exitCodes.startAgain,
    'a store is away, or not migrated yet (`serve` waits instead); `serve`: the log was another one for a while and belongs to the database again, or the machine slept for over 15 min. Start it again',
  ],
  [exitCodes.newer, 'the data directory was written by a newer release'],
  [
    exitCodes.denied,
    'Postgres or the event store refuses the account: a wrong password, or a missing right',
  ],
  [
    exitCodes.refused,
    'the configuration is wrong, or a file that it names, or `DATA_DIR` cannot be written; the other replicas have another `MARKER_SECRET`; the log and the database do not belong together',
  ],
]

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
  if (error.name === 'UsageError') return exitCodes.usage
  if (REFUSED.has(error.name)) return exitCodes.refused
  if (error.name === 'NotVerifiedError') return exitCodes.notVerified
  if (error.name === 'NotMigratedError') return exitCodes.startAgain
  const code = 'code' in error ? error.code : undefined
  if (code === 'data_dir_newer') return exitCodes.newer
  if (code === 'data_dir_unwritable' || code === 'data_dir_invalid') return exitCodes.refused
  // A password that is asked for and is not in the URL has no code.
  if (DENIED.has(code) || error.message.startsWith('SASL: ')) return exitCodes.denied
  return exitCodeOf(error.cause, depth + 1)
}
