import type { AnswerDifferences, ReportNote } from '../../../domain/catalog/call-rules.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import {
  estimateText,
  heldInputTokens,
  type InputSize,
  LARGEST_CONVERSATION_TOKENS,
  type TextUsage,
  type TokenUnit,
  toolUnits,
  type ToolUnit,
} from './tokens.ts'

/**
 * Determines the usage of a text call. Input and output of a report are checked separately: figures
 * of a complete result count, also of a failed one, unless they are above what the request can have
 * used, or below what came of output; figures that came with a part of a result are a lower bound;
 * without figures the received bytes are counted, up to the most that the model allows. An explicit
 * zero is a figure.
 */

/** The size of the received output. */
export interface OutputSize {
  /** UTF-8 bytes of text, reasoning, tool names and arguments. */
  readonly bytes: number
  /** UTF-16 units of the same without reasoning, which not every provider counts. */
  readonly characters: number
  /** Alternatives of which something came. */
  readonly answers: number
}

/** The received part of a text answer. */
export interface TextSeen {
  /** The reported usage; undefined if upstream reported none, or invalid figures. */
  readonly usage: TextUsage | undefined
  /** The part of the output that is reasoning, as far as it was reported. */
  readonly reasoningTokens?: number
  /** The part of the output that the bound of the request does not limit, such as summaries. */
  readonly unboundedTokens?: number
  /** Irregularities of the report. */
  readonly notes?: readonly ReportNote[]
  /** The report as it came. */
  readonly report?: JsonObject
  readonly output: () => OutputSize
  /** Upstream reported that the result is complete. */
  readonly finished: boolean
  /** The tier that served the call, on a wire that is billed by it. */
  readonly servedTier?: string
  /** Tokens of the longest of several prompts, where the usage adds them up. */
  readonly promptTokens?: number
  /** Present if upstream answered with another model or service tier than requested. */
  readonly answeredOtherwise?: AnswerDifferences
}

/** Maximum usage of a request. */
export interface MostUsed {
  readonly inputSize: InputSize
  /** Output tokens that the request and the model allow, of all alternatives. */
  readonly largestOutputTokens: number
  /**
   * Output tokens that the model allows: not every provider counts reasoning towards the bound of a
   * request.
   */
  readonly unboundedOutputTokens: number
  readonly answers: number
  /** Upstream runs tools, whose results are input that the gateway never sees. */
  readonly runsTools: boolean
}

/** The sides of a report. */
export type Side = 'input' | 'output' | 'tools'

export function sideOf(unit: TokenUnit | ToolUnit): Side {
  if (unit === 'output') return 'output'
  return (toolUnits as readonly string[]).includes(unit) ? 'tools' : 'input'
}

/**
 * Providers add tokens to the input: for their system prompts, for tools and for roles. A tokenizer
 * makes at most one token per byte, and the hold counts one for every four bytes of input.
 */
const INPUT_FACTOR = 8
const INPUT_ALLOWANCE_TOKENS = 32_768
/** Inline sound, film and documents may be far denser than they are held. */
const MEDIA_ALLOWANCE_TOKENS = 300_000
/** Providers count the ends of answers, and names of tools, in ways of their own. */
const OUTPUT_FACTOR = 1.25
const OUTPUT_ALLOWANCE_TOKENS = 64
/** Calls of the provider's own tools for one answer. */
export const LARGEST_TOOL_CALLS = 128

function inputCeiling({ inputSize, runsTools }: MostUsed): number {
  return (
    heldInputTokens(inputSize) * INPUT_FACTOR +
    INPUT_ALLOWANCE_TOKENS +
    (inputSize.mediaBytes > 0 ? MEDIA_ALLOWANCE_TOKENS : 0) +
    (runsTools ? LARGEST_CONVERSATION_TOKENS : 0)
  )
}

/**
 * The most output tokens of an answer: what the request allows, or what came where a provider does
 * not follow the bound of the request. A tokenizer makes at most one token per byte.
 */
function mostOutput(most: MostUsed, seen: TextSeen): number {
  const { output, reasoningTokens = 0, unboundedTokens = 0 } = seen
  const { largestOutputTokens, unboundedOutputTokens } = most
  const allowed = Math.max(largestOutputTokens + reasoningTokens, output().bytes)
  // A summary of a conversation is an output of the model by itself, and no longer than one.
  return Math.min(allowed, unboundedOutputTokens) + Math.min(unboundedTokens, unboundedOutputTokens)
}

/** No text that a model usually writes has as many characters to a token on average. */
export const MOST_CHARACTERS_PER_TOKEN = 16
/** The bound for several alternatives, of which some providers count one only. */
const MOST_CHARACTERS_OF_SEVERAL = 6

/** The fewest output tokens of the received output, where a report may say less; else 0. */
function leastOutput({ usage, output }: TextSeen, estimate: () => TextUsage): number {
  const reported = usage?.output ?? 0
  // An explicit zero stays zero.
  if (reported === 0) return 0
  const { characters, answers } = output()
  if (answers > 1) return characters > reported * MOST_CHARACTERS_OF_SEVERAL ? estimate().output : 0
  return Math.ceil(characters / MOST_CHARACTERS_PER_TOKEN)
}

/** The settled usage, its estimated sides, and the irregularities of the report. */
interface Measured {
  readonly usage: TextUsage
  readonly estimated: ReadonlySet<Side>
  readonly notes: readonly ReportNote[]
}

const ALL: ReadonlySet<Side> = new Set<Side>(['input', 'output', 'tools'])
const NONE: ReadonlySet<Side> = new Set()
const NO_NOTES: readonly ReportNote[] = []

export function measureText(most: MostUsed, seen: TextSeen): Measured {
  const { usage, finished, notes = NO_NOTES } = seen
  if (usage === undefined) return { usage: bounded(most, seen), estimated: ALL, notes }
  const above = sidesAbove(most, usage, seen)
  // For a part of a result, the estimate is the lower bound.
  const least = finished ? leastOutput(seen, () => bounded(most, seen)) : 0
  const isFew = least > usage.output
  if (finished && above.length === 0 && !isFew && notes.length === 0)
    return { usage, estimated: NONE, notes }
  const allNotes = [
    ...notes,
    ...above.map((what): ReportNote => ({ what, why: 'ceiling' })),
    ...(isFew ? [FEW] : []),
  ]
  const doubted = new Set(allNotes.filter(isDoubt).map(({ what }) => what as Side))
  const estimate = bounded(most, seen)
  const output = outputOf(most, seen, { doubted, least, estimated: estimate.output })
  return {
    usage: {
      ...usage,
      ...(doubted.has('input') ? inputOf(estimate) : {}),
      ...(doubted.has('tools') ? toolsOf(estimate) : {}),
      output,
    },
    estimated: finished ? doubted : ALL,
    notes: allNotes,
  }
}

const FEW: ReportNote = { what: 'output', why: 'floor' }

function outputOf(
  most: MostUsed,
  seen: TextSeen,
  { doubted, least, estimated }: { doubted: ReadonlySet<Side>; least: number; estimated: number },
): number {
  const reported = seen.usage?.output ?? 0
  if (doubted.has('output')) return least > reported ? Math.min(least, estimated) : estimated
  return seen.finished ? reported : Math.max(estimated, Math.min(reported, mostOutput(most, seen)))
}

/** An estimate is never above what the model allows. */
function bounded({ inputSize, unboundedOutputTokens }: MostUsed, { output }: TextSeen): TextUsage {
  const estimate = estimateText(inputSize, output().bytes)
  return { ...estimate, output: Math.min(estimate.output, unboundedOutputTokens) }
}

function sidesAbove(most: MostUsed, usage: TextUsage, seen: TextSeen): readonly Side[] {
  const above: Side[] = []
  const input =
    usage.input + usage['cached-input'] + usage['cache-write-5m'] + usage['cache-write-1h']
  if (input > inputCeiling(most)) above.push('input')
  const largest = most.largestOutputTokens * OUTPUT_FACTOR
  // Most reports are below this bound, and then the received output need not be counted.
  if (usage.output > largest) {
    const ceiling = mostOutput(most, seen) * OUTPUT_FACTOR + OUTPUT_ALLOWANCE_TOKENS * most.answers
    if (usage.output > ceiling) above.push('output')
  }
  const calls = toolUnits.reduce((sum, unit) => sum + usage[unit], 0)
  if (calls > LARGEST_TOOL_CALLS * most.answers) above.push('tools')
  return above
}

function isDoubt({ why }: ReportNote): boolean {
  return why === 'missing' || why === 'parts' || why === 'ceiling' || why === 'floor'
}

function inputOf({ input }: TextUsage): Partial<TextUsage> {
  return { input, 'cached-input': 0, 'cache-write-5m': 0, 'cache-write-1h': 0 }
}

function toolsOf(usage: TextUsage): Pick<TextUsage, ToolUnit> {
  return {
    'web-search-call': usage['web-search-call'],
    'code-interpreter-session': usage['code-interpreter-session'],
    'file-search-call': usage['file-search-call'],
  }
}

const MAX_FIGURES = 32
const FIGURE_NAME = /^[A-Za-z][\w-]{0,63}$/

/**
 * The figures of a report under upstream's names; names within an object are joined by a dot. A
 * figure that an event cannot hold is replaced by the largest possible one; values that are not
 * positive figures are left out.
 */
export function reportedFigures(report: JsonObject): Usage {
  const figures: Record<string, number> = {}
  const add = (name: string, value: unknown): void => {
    if (Object.keys(figures).length >= MAX_FIGURES) return
    if (typeof value !== 'number' || !(value >= 0)) return
    figures[name] = countOf(value) ?? Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER)
  }
  for (const [name, value] of Object.entries(report)) {
    if (!FIGURE_NAME.test(name)) continue
    if (!isJsonObject(value)) add(name, value)
    else
      for (const [inner, figure] of Object.entries(value))
        if (FIGURE_NAME.test(inner)) add(`${name}.${inner}`, figure)
  }
  return figures
}
