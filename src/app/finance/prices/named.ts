/** Models, SKUs and books that are named; more are counted. */
export const MAX_NAMED = 20

/** Names for people, however many there are. */
export function some(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
