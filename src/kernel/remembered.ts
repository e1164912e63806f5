import { forAll } from './asked-by.ts'
import { type Clock, monotonicClock } from './clock.ts'

/**
 * Shares one answer among all who ask: one look at a time, and its answer is given again for a while
 * after it came. A look that failed fails for those who wait for it and is forgotten.
 */
export function remembered<Answer>(
  forMs: number,
  look: () => Promise<Answer>,
  clock: Clock = monotonicClock,
): () => Promise<Answer> {
  let looking: Promise<Answer> | undefined
  let known: { readonly answer: Answer; readonly atMs: number } | undefined
  const lookAnew = async (): Promise<Answer> => {
    try {
      const answer = await look()
      known = { answer, atMs: clock.nowMs() }
      return answer
    } finally {
      looking = undefined
    }
  }
  return () => {
    if (known !== undefined && clock.nowMs() - known.atMs < forMs)
      return Promise.resolve(known.answer)
    looking ??= forAll(lookAnew)
    return looking
  }
}
