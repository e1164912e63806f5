import type { Journal } from '../../eventlog/journal/journal.ts'

/** Refusals of one token within this time are two events at most. */
const COUNTED_FOR_MS = 60_000
/**
 * Maximum number of tokens whose refusals are counted; refusals of further tokens are recorded one
 * by one.
 */
const MAX_TOKENS = 20_000

type Recorded = Parameters<Journal['record']>
type Refusal = readonly [
  event: Extract<Recorded[0], { readonly type: 'CallFailed' }>,
  metadata: Recorded[1],
]

/** The refusals of a token since the one that was recorded. */
interface Counted {
  count: number
  last: Refusal | undefined
  readonly timer: NodeJS.Timeout
}

interface CountedRefusals {
  readonly record: Journal['record']
  /** Records the counted refusals; called before the journal closes. */
  readonly flush: () => void
}

/**
 * Calls that a provider certainly refused cost nothing, so one token could grow the log with them
 * for ever. The first refusal of a token is recorded immediately; those of the following minute
 * become one event, which has their number. A process that dies loses that event, which moves no
 * money.
 */
export function createCountedRefusals(journal: Pick<Journal, 'record'>): CountedRefusals {
  const tokens = new Map<string, Counted>()
  const end = (tokenId: string): void => {
    const counted = tokens.get(tokenId)
    tokens.delete(tokenId)
    clearTimeout(counted?.timer)
    if (counted?.last === undefined) return
    const [{ type, data }, metadata] = counted.last
    const event = {
      type,
      data: { ...data, ...(counted.count > 1 ? { count: counted.count } : {}) },
    }
    // The caller has been answered, and the journal reports that it cannot write.
    journal.record(event, metadata).catch(() => undefined)
  }
  return {
    record: (event, metadata) => {
      if (event.type !== 'CallFailed' || event.data.absorbed !== undefined)
        return journal.record(event, metadata)
      const { tokenId } = event.data
      const counted = tokens.get(tokenId)
      if (counted !== undefined) {
        counted.count += 1
        counted.last = [event, metadata]
        return Promise.resolve({})
      }
      if (tokens.size < MAX_TOKENS) {
        const timer = setTimeout(end, COUNTED_FOR_MS, tokenId).unref()
        tokens.set(tokenId, { count: 0, last: undefined, timer })
      }
      return journal.record(event, metadata)
    },
    flush: () => {
      for (const tokenId of tokens.keys()) end(tokenId)
    },
  }
}
