import type { TokenLimits } from '../../domain/token/events.ts'

/** What a token may use; undefined is no limit. */
export interface Limits {
  /** Text calls and creations of tasks. */
  readonly requestsPerMinute: number | undefined
  /** Tokens of text calls, in and out. */
  readonly tokensPerMinute: number | undefined
  /** Asynchronous tasks that have not ended. */
  readonly concurrentTasks: number | undefined
}

export const noLimits: Limits = {
  requestsPerMinute: undefined,
  tokensPerMinute: undefined,
  concurrentTasks: undefined,
}

/** What was said for a token, and the operator's defaults where nothing was; undefined is none. */
export function limitsInForce(own: TokenLimits | undefined, defaults: Limits): Limits | undefined {
  const limits = own === undefined ? defaults : merged(own, defaults)
  const { requestsPerMinute, tokensPerMinute, concurrentTasks } = limits
  return (requestsPerMinute ?? tokensPerMinute ?? concurrentTasks) ? limits : undefined
}

function merged(own: TokenLimits, defaults: Limits): Limits {
  const of = (name: keyof Limits): number | undefined => {
    const said = own[name]
    return said === undefined ? defaults[name] : (said ?? undefined)
  }
  return {
    requestsPerMinute: of('requestsPerMinute'),
    tokensPerMinute: of('tokensPerMinute'),
    concurrentTasks: of('concurrentTasks'),
  }
}
