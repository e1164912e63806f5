/** How the program ends, for whoever starts it again; docs/operations.md lists them. */
export const exitCodes = {
  inOrder: 0,
  failed: 1,
  /** Something went wrong that nobody had thought of. */
  defect: 70,
  /** Another start would end the same way until somebody sets it right. */
  refused: 78,
} as const

/** By name: the module of the error need not be loaded here. */
export function exitCodeOf(error: unknown): number {
  const refused = error instanceof Error && error.name === 'MarkerSecretError'
  return refused ? exitCodes.refused : exitCodes.failed
}
