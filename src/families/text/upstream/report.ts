import type { ReportNote } from '../../../domain/catalog/call-rules.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { isGiven } from '../../kit/http/fields.ts'
import type { TextTally } from '../ports.ts'
import type { TextSeen } from '../rules/measure.ts'
import { noTextUsage, type ToolUnit, type TextUsage } from '../rules/tokens.ts'
import type { CacheUsage } from './answer-differences.ts'

/**
 * Upstream's report of the usage of a text call, read by every text wire in the same way: input and
 * output count separately, and figures from an unusual place are noted.
 */

/** The figures of a report. A figure that is missing or no count is undefined. */
interface ReportedFigures {
  /** All input tokens, including those read from and written to caches. */
  readonly input: number | undefined
  readonly output: number | undefined
  /** Undefined where one of its figures is no count. */
  readonly cache: CacheUsage | undefined
  /** The part of the output that is reasoning. */
  readonly reasoning: number | undefined
  readonly total: number | undefined
  readonly tools: Pick<TextUsage, ToolUnit>
}

/** The usable figures of a report; without any there is no usage. */
export type TextReading = Pick<
  TextSeen,
  'usage' | 'reasoningTokens' | 'unboundedTokens' | 'notes' | 'promptTokens'
>

export const NOTHING_READ: TextReading = { usage: undefined }

const MISSING_INPUT: ReportNote = { what: 'input', why: 'missing' }
const MISSING_OUTPUT: ReportNote = { what: 'output', why: 'missing' }
const PARTS: ReportNote = { what: 'input', why: 'parts' }
const BY_TOTAL: ReportNote = { what: 'output', why: 'elsewhere' }
const WHOLE_BY_TOTAL: ReportNote = { what: 'input', why: 'elsewhere' }
const CACHE_ELSEWHERE: ReportNote = { what: 'cached-input', why: 'elsewhere' }
const UNDONE: ReportNote = { what: 'report', why: 'undone' }

/** Turns figures into billing units. */
export function readFigures(figures: ReportedFigures): TextReading {
  const { cache = { read: 0, written5m: 0, written1h: 0 } } = figures
  const notes: ReportNote[] = cache.isElsewhere === true ? [CACHE_ELSEWHERE] : []
  const parts = cache.read + cache.written5m + cache.written1h
  const { input, output } = sidesOf(figures, parts, notes)
  if (input === undefined && output === undefined)
    return { usage: undefined, notes: [MISSING_INPUT, MISSING_OUTPUT] }
  const isPart = input === undefined || (figures.cache !== undefined && parts <= input)
  if (input === undefined) notes.push(MISSING_INPUT)
  else if (!isPart) notes.push(PARTS)
  if (output === undefined) notes.push(MISSING_OUTPUT)
  const usage = {
    ...noTextUsage,
    ...figures.tools,
    input: Math.max(0, (input ?? 0) - parts),
    'cached-input': cache.read,
    'cache-write-5m': cache.written5m,
    'cache-write-1h': cache.written1h,
    output: output ?? 0,
  }
  const { reasoning = 0 } = figures
  return {
    usage,
    ...(reasoning > 0 ? { reasoningTokens: reasoning } : {}),
    ...(notes.length > 0 ? { notes } : {}),
  }
}

/**
 * Both sides, completed by the total if it is larger: a missing side is the rest of it; reasoning
 * and cache tokens may be counted only in the total.
 */
function sidesOf(
  { input, output, total, reasoning = 0 }: ReportedFigures,
  cached: number,
  notes: ReportNote[],
): Pick<ReportedFigures, 'input' | 'output'> {
  if (total === undefined || total === 0) return { input, output }
  if (input === undefined || output === undefined) {
    const rest = total - (input ?? output ?? total)
    if (rest <= 0 || (input === undefined && output === undefined)) return { input, output }
    notes.push(input === undefined ? WHOLE_BY_TOTAL : BY_TOTAL)
    return { input: input ?? rest, output: output ?? rest }
  }
  const more = total - input - output
  if (more <= 0) return { input, output }
  if (more === cached && more !== reasoning) {
    notes.push(WHOLE_BY_TOTAL)
    return { input: input + more, output }
  }
  if (reasoning !== 0 && more !== reasoning) return { input, output }
  notes.push(BY_TOTAL)
  return { input, output: output + more }
}

/** Follows the reports of one stream. */
interface ReportTracker {
  /** Takes the report of a frame into account, if it has one. */
  readonly note: (report: unknown) => void
  /** The figures read from all reports. */
  readonly reading: () => TextReading & Pick<TextSeen, 'report'>
}

/**
 * The reports of a stream are cumulative: a member that a later report lacks keeps its value, and a
 * zero or a value that is not a count does not replace a figure.
 */
export function trackReports(read: (report: JsonObject) => TextReading): ReportTracker {
  let kept: JsonObject | undefined
  let undone = false
  const onUndone = (): void => {
    undone = true
  }
  return {
    note: (report) => {
      if (!isJsonObject(report)) return
      kept = kept === undefined ? report : merged(kept, report, onUndone)
    },
    reading: () => {
      if (kept === undefined) return NOTHING_READ
      const found = { ...read(kept), report: kept }
      return undone ? { ...found, notes: [...(found.notes ?? []), UNDONE] } : found
    },
  }
}

/** The later report, completed by figures that only the earlier one has; most need none. */
function merged(earlier: JsonObject, later: JsonObject, onUndone: () => void): JsonObject {
  let completed: Record<string, unknown> | undefined
  for (const name in earlier) {
    const [was, is] = [earlier[name], later[name]]
    const value = keptValue(was, is, onUndone)
    if (value !== is) (completed ??= { ...later })[name] = value
  }
  return completed ?? later
}

function keptValue(was: unknown, is: unknown, onUndone: () => void): unknown {
  if (!isGiven(is)) return was
  if (isJsonObject(was) && isJsonObject(is)) return merged(was, is, onUndone)
  const count = countOf(was)
  if (count === undefined || count === 0) return is
  if (typeof is === 'number' && is > 0) return is
  onUndone()
  return was
}

/** The tally of an answer that came whole. */
export function wholeTally(
  report: unknown,
  reading: TextReading,
  rest: Pick<TextTally, 'failure' | 'answeredOtherwise' | 'output'>,
): TextTally {
  return {
    ...reading,
    ...rest,
    ...(isJsonObject(report) ? { report } : {}),
    finished: true,
  }
}
