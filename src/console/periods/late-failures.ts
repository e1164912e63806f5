import type { MonthOf } from '../../app/finance/statements/types.ts'
import { createLru } from '../../kernel/lru.ts'
import { failureOf } from '../failure.ts'

/** Closes that failed after their form was answered: their pages say why. */

/** Closes of which this process keeps the words. */
const MAX_KEPT = 4_000

export interface LateFailures {
  readonly keep: (of: MonthOf, error: unknown) => void
  /** A form was sent again: what failed before is over. */
  readonly forget: (of: MonthOf) => void
  /** Why the last close failed, in words; undefined where it did not. */
  readonly wordsFor: (of: MonthOf) => string | undefined
}

const keyOf = ({ tenantId, currency, month }: MonthOf): string =>
  JSON.stringify([tenantId, currency, month])

export function createLateFailures(): LateFailures {
  const kept = createLru<string, string>(MAX_KEPT)
  return {
    keep: (of, error) => {
      kept.set(keyOf(of), failureOf(error, '').message)
    },
    forget: (of) => {
      kept.delete(keyOf(of))
    },
    wordsFor: (of) => kept.get(keyOf(of)),
  }
}
