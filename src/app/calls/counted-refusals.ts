import type { Journal } from '../../eventlog/journal/journal.ts'
import { SharedUse, type Shares } from '../../kernel/sharers.ts'
import { sharerOf } from '../../domain/token/sharer.ts'

/** Refusals of one token within this time are two events at most. */
const COUNTED_FOR_MS = 60_000
/**
 * Maximum number of tokens whose refusals are counted; refusals of further tokens are recorded one
 * by one.
 */
const MAX_TOKENS = 20_000

/** Tokens whose refusals are counted each by itself; those of further tokens of a tenant are counted together. */
const TOKENS_COUNTED: Shares = { perUser: 5, perTenant: 20 }

type Recorded = Parameters<Journal['record']>
type RecordedRefusal = readonly [
  event: Extract<Recorded[0], { readonly type: 'CallFailed' }>,
  metadata: Recorded[1],
]

/** The refusals of a token, or of further tokens of a tenant, since the one that was recorded. */
interface Counted {
  count: number
  last: RecordedRefusal | undefined
  readonly timer: NodeJS.Timeout
  readonly forget: () => void
}

interface CountedRefusals {
  readonly record: Journal['record']
  /** Records the counted refusals; called before the journal closes. */
  readonly flush: () => void
}

/**
 * Calls that a provider certainly refused cost nothing, so one token could grow the log with them
 * for ever. The first refusal of a token is recorded immediately; those of the following minute
 * become one event, which has their number. A user can issue itself many tokens: the refusals
 * of all tokens beyond `TOKENS_COUNTED` become one event for the tenant, which names the last token. A process that dies loses that event, which moves no
 * money.
 */
export function createCountedRefusals(journal: Pick<Journal, 'record'>): CountedRefusals {
  const known = new Map<string, Counted>()
  const tokens = new SharedUse(TOKENS_COUNTED)
  const end = (key: string): void => {
    const counted = known.get(key)
    known.delete(key)
    counted?.forget()
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
      const sharer = sharerOf({ ...event.data, kind: 'model' })
      const isOwn = known.has(tokenId) || tokens.fits(sharer)
      const key = isOwn ? tokenId : sharer.tenant
      const counted = known.get(key)
      if (counted !== undefined) {
        counted.count += 1
        counted.last = [event, metadata]
        return Promise.resolve({})
      }
      if (known.size < MAX_TOKENS) {
        const timer = setTimeout(end, COUNTED_FOR_MS, key).unref()
        if (isOwn) tokens.add(sharer)
        const forget = (): void => (isOwn ? tokens.add(sharer, -1) : undefined)
        known.set(key, { count: 0, last: undefined, timer, forget })
      }
      return journal.record(event, metadata)
    },
    flush: () => {
      for (const key of known.keys()) end(key)
    },
  }
}
