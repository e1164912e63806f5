import type { TaskFamilyRules } from './task-rules.ts'

/** Added to the longest expiry of a family: after both, the gateway stops waiting. */
const GRACE_MS = 3_600_000

type ExpiryRules = Pick<TaskFamilyRules, 'longestExpiryS'>

/** The rules of a family's tasks. */
export type ExpiryCatalog = { readonly taskFamily: (family: string) => ExpiryRules }

/** Longest time for which a task of the family is asked for after its request, in milliseconds. */
function longestWaitMs({ longestExpiryS }: ExpiryRules): number {
  return longestExpiryS * 1_000 + GRACE_MS
}

/** The longest wait of each family. */
export function longestWaitsMs(
  families: ReadonlyMap<string, ExpiryRules>,
): Readonly<Record<string, number>> {
  return Object.fromEntries([...families].map(([name, rules]) => [name, longestWaitMs(rules)]))
}

/**
 * The time at which a task is given up that the provider still shows or does not answer for, Unix
 * milliseconds: later than its deadline, because giving up early would lose its settlement. Receipts,
 * lives, metrics and the expiry policy all use this time.
 */
export function latestEndMs(
  rules: ExpiryRules,
  task: { readonly requestedAtMs: number; readonly expiresAtMs: number },
): number {
  return Math.max(task.requestedAtMs + longestWaitMs(rules), task.expiresAtMs)
}
