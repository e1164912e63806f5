import type { JSX } from 'preact'
import type { toToken } from '../../api/kit/tokens/routes.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import { Moment, type ZoneClock } from '../kit/values.tsx'

/** A token in words: its limits, and times that it may not have. */

export type ShownToken = ReturnType<typeof toToken>

const limitWords = {
  requests_per_minute: 'requests per minute',
  tokens_per_minute: 'tokens per minute',
  concurrent_calls: 'calls at once',
  concurrent_tasks: 'tasks at once',
} as const
const limitMembers = Object.keys(limitWords) as readonly (keyof typeof limitWords)[]

/** The limits that are set, in words; none of them: the given words. */
export function limitsInWords(
  limits: Readonly<Record<keyof typeof limitWords, number | string | null>>,
  none: string,
): string {
  const set = limitMembers.flatMap((name) => {
    const limit = limits[name]
    if (limit === 'default' || limit === null) return []
    return [`${limit} ${limitWords[name]}`]
  })
  return set.length === 0 ? none : set.join(', ')
}

/** The time of a token, or the words for its absence. */
export function TimeOr({
  at,
  none,
  clock,
}: {
  readonly at: string | null
  readonly none: string
  readonly clock: ZoneClock
}): JSX.Element {
  return at === null ? <>{none}</> : <Moment atMs={fromTimestamp(at)} clock={clock} />
}
