import { runForAll } from './sharer-context.ts'
import { type Clock, monotonicClock } from '../kernel/clock.ts'

/**
 * Shares one answer among all callers: one query at a time, and its answer is reused for a while. A
 * failed query fails for the callers that wait for it and is forgotten.
 */
export function memoizeFor<Answer>(
  forMs: number,
  query: () => Promise<Answer>,
  clock: Clock = monotonicClock,
): () => Promise<Answer> {
  let pending: Promise<Answer> | undefined
  let known: { readonly answer: Answer; readonly atMs: number } | undefined
  const queryAgain = async (): Promise<Answer> => {
    try {
      const answer = await query()
      known = { answer, atMs: clock.nowMs() }
      return answer
    } finally {
      pending = undefined
    }
  }
  return () => {
    if (known !== undefined && clock.nowMs() - known.atMs < forMs)
      return Promise.resolve(known.answer)
    pending ??= runForAll(queryAgain)
    return pending
  }
}
