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
 * used; figures that came with a part of a result are a lower bound; without figures the received
 * bytes are counted, up to the most that the request allows. An explicit zero is a figure.
 */

/** The received part of a text answer. */
export interface TextSeen {
  /** The reported usage; undefined if upstream reported none, or invalid figures. */
  readonly usage: TextUsage | undefined
  /** The part of the output that is reasoning, as far as it was reported. */
  readonly reasoningTokens?: number
  /** Irregularities of the report. */
  readonly notes?: readonly ReportNote[]
  /** The report as it came. */
  readonly report?: JsonObject
  /** Counts the UTF-8 bytes of text, reasoning, tool names and arguments; an estimate alone needs them. */
  readonly outputBytes: () => number
  /** Upstream reported that the result is complete. */
  readonly finished: boolean
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
const LARGEST_TOOL_CALLS = 128

function inputCeiling({ inputSize, runsTools }: MostUsed): number {
  return (
    heldInputTokens(inputSize) * INPUT_FACTOR +
    INPUT_ALLOWANCE_TOKENS +
    (inputSize.mediaBytes > 0 ? MEDIA_ALLOWANCE_TOKENS : 0) +
    (runsTools ? LARGEST_CONVERSATION_TOKENS : 0)
  )
}

function outputCeiling(most: MostUsed, reasoningTokens: number): number {
  const { largestOutputTokens, unboundedOutputTokens, answers } = most
  const tokens = Math.min(largestOutputTokens + reasoningTokens, unboundedOutputTokens)
  return tokens * OUTPUT_FACTOR + OUTPUT_ALLOWANCE_TOKENS * answers
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
  const above = sidesAbove(most, usage, seen.reasoningTokens ?? 0)
  if (finished && above.length === 0 && notes.length === 0) return { usage, estimated: NONE, notes }
  const allNotes = [...notes, ...above.map((what): ReportNote => ({ what, why: 'ceiling' }))]
  const doubted = new Set(allNotes.filter(isDoubt).map(({ what }) => what as Side))
  const estimate = bounded(most, seen)
  const output = doubted.has('output')
    ? estimate.output
    : finished
      ? usage.output
      : Math.max(estimate.output, Math.min(usage.output, most.largestOutputTokens))
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

/** An estimate is never above what the request allows. */
function bounded(
  { inputSize, largestOutputTokens }: MostUsed,
  { outputBytes }: TextSeen,
): TextUsage {
  const estimate = estimateText(inputSize, outputBytes())
  return { ...estimate, output: Math.min(estimate.output, largestOutputTokens) }
}

function sidesAbove(most: MostUsed, usage: TextUsage, reasoningTokens: number): readonly Side[] {
  const above: Side[] = []
  const input =
    usage.input + usage['cached-input'] + usage['cache-write-5m'] + usage['cache-write-1h']
  if (input > inputCeiling(most)) above.push('input')
  if (usage.output > outputCeiling(most, reasoningTokens)) above.push('output')
  const calls = toolUnits.reduce((sum, unit) => sum + usage[unit], 0)
  if (calls > LARGEST_TOOL_CALLS * most.answers) above.push('tools')
  return above
}

function isDoubt({ why }: ReportNote): boolean {
  return why === 'missing' || why === 'parts' || why === 'ceiling'
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
