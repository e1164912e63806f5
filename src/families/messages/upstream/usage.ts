import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import { cacheUsageOf, type CacheUsage } from '../../text/upstream/answer-differences.ts'
import { NOTHING_READ, readFigures, type TextReading } from '../../text/upstream/report.ts'
import { isUsualWord } from '../../../domain/catalog/checks/price-members.ts'
import type { MessagesSettings } from '../settings.ts'
import { noTextUsage } from '../../text/rules/tokens.ts'

/** The `usage` of messages: all figures of input stand apart from each other. */

/** The type of summaries that upstream makes of a long conversation; its totals leave them out. */
const APART_FROM_TOTALS = 'compaction'

interface Sides {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cache: CacheUsage | undefined
}

/** The figures of one sampling: `input_tokens` excludes what was read from and written to caches. */
function sidesOf(usage: JsonObject, cachedInput: MessagesSettings['cachedInput']): Sides {
  const found = cacheUsageOf({}, usage)
  // On this wire the names of cache figures are the usual ones: nothing is to be noted.
  const cache = found && {
    read: found.read,
    written5m: found.written5m,
    written1h: found.written1h,
  }
  const parts = cache === undefined ? 0 : cache.read + cache.written5m + cache.written1h
  const isKnown = isGiven(usage['input_tokens']) || parts > 0
  const own = isKnown ? countOrZero(usage['input_tokens']) : undefined
  return {
    input: own === undefined || cachedInput === 'within' ? own : own + parts,
    output: isGiven(usage['output_tokens']) ? countOrZero(usage['output_tokens']) : undefined,
    cache,
  }
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

function added(one: Sides, other: Sides): Sides {
  const [a, b] = [one.cache, other.cache]
  return {
    input: sum(one.input, other.input),
    output: sum(one.output, other.output),
    cache: a &&
      b && {
        read: a.read + b.read,
        written5m: a.written5m + b.written5m,
        written1h: a.written1h + b.written1h,
      },
  }
}

/** The `usage` of messages by billing unit; `trackReports` has merged those of a stream. */
export function messagesUsage(
  usage: unknown,
  cachedInput?: MessagesSettings['cachedInput'],
): TextReading {
  if (!isJsonObject(usage)) return NOTHING_READ
  const parts = objectsOf(usage['iterations']).filter(({ type }) => type === APART_FROM_TOTALS)
  const samplings = [usage, ...parts].map((one) => sidesOf(one, cachedInput))
  const { input, output, cache } = samplings.reduce(added)
  const searches = countOrZero(objectOf(usage['server_tool_use'])['web_search_requests']) ?? 0
  const reading = readFigures({
    input,
    output,
    cache,
    reasoning: undefined,
    total: undefined,
    tools: searches === 0 ? noTextUsage : { ...noTextUsage, 'web-search-call': searches },
  })
  if (samplings.length === 1) return reading
  const [, ...summaries] = samplings
  return {
    ...reading,
    promptTokens: Math.max(...samplings.map((one) => one.input ?? 0)),
    unboundedTokens: summaries.reduce((tokens, one) => tokens + (one.output ?? 0), 0),
  }
}

/** The tier that served a call, by its speed or by its service tier; undefined if none is named. */
export function servedTier({ speed, service_tier: tier }: JsonObject): string | undefined {
  const named = textOf(speed)
  return named === undefined || isUsualWord(named) ? (textOf(tier) ?? named) : named
}
