import { type LimitName, limitNames } from '../../../domain/token/limits.ts'
import type { TokenLimits } from '../../../domain/token/events.ts'

/** What may be asked at a time; undefined is no limit. */
export interface Limits {
  /** Calls and creations of tasks. */
  readonly requestsPerMinute: number | undefined
  /** Tokens of text calls, in and out. */
  readonly tokensPerMinute: number | undefined
  /** Synchronous calls under way. */
  readonly concurrentCalls: number | undefined
  /** Asynchronous tasks that have not ended. */
  readonly concurrentTasks: number | undefined
}

export const noLimits: Limits = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentCalls: undefined,
  concurrentTasks: undefined,
}

/** What was said for a token, and the operator's defaults where nothing was; undefined is none. */
export function limitsInForce(own: TokenLimits | undefined, defaults: Limits): Limits | undefined {
  const inForce = (name: LimitName): number | undefined => {
    const said = own?.[name]
    return said === undefined ? defaults[name] : (said ?? undefined)
  }
  const limits = limitNames.map((name) => [name, inForce(name)] as const)
  if (limits.every(([, limit]) => limit === undefined)) return undefined
  return { ...noLimits, ...Object.fromEntries(limits) }
}
