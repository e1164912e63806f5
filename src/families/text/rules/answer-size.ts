import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { answersOf, largestAnswer } from './expected.ts'
import { MOST_CHARACTERS_PER_TOKEN, type OutputSize } from './measure.ts'
import type { TextWireRules } from './wire.ts'

/**
 * Maximum size of an answer, so that no bound of the gateway is below the answer to an admitted
 * request (P10): otherwise a caller could get an answer that is delivered and never billed.
 */

/** Facts that bound the size of an answer, in addition to the request that it repeats. */
export interface LargestAnswer {
  /** Output tokens of all alternatives. */
  readonly outputTokens: number
  /** Bytes of the probabilities of one token; 0 where none are asked for. */
  readonly bytesOfLogprobs: number
  /** Whether it may hold inline media. */
  readonly hasMedia: boolean
}

const MEBIBYTE = 1024 * 1024
/** A token of text, with its escapes in JSON; the average is 4. */
const BYTES_PER_TOKEN = 16
/** A frame for one token, with names, ids and white space around it. */
const FRAME_BYTES_PER_TOKEN = 2 * 1024
/** A token with its bytes and its probability. */
const BYTES_PER_LOGPROB = 128
const MAX_LOGPROBS = 20
/** Units of a character of the request, where a provider repeats it with escapes. */
const ESCAPED_LENGTH = 6
/** A stream of responses repeats the request three times, and every text of its output as often. */
const REPETITIONS = 4
/** Everything else in an answer. */
const REST_BYTES = 16 * MEBIBYTE
/** Inline pictures, which cost few tokens. */
const MEDIA_BYTES = 64 * MEBIBYTE
/** Maximum bytes of one answer that a process can hold. */
export const MAX_TEXT_ANSWER_BYTES = 256 * MEBIBYTE

/**
 * Facts that bound the size of the answer to a request of at most `largestOutputTokens` a choice.
 */
export function largestOf(
  wire: TextWireRules,
  body: JsonObject,
  largestOutputTokens: number,
): LargestAnswer {
  return {
    outputTokens: largestAnswer(wire, body, largestOutputTokens) * answersOf(wire, body),
    bytesOfLogprobs: logprobsOf(wire, body) * BYTES_PER_LOGPROB,
    hasMedia: wire.answersMedia === true,
  }
}

function logprobsOf({ output: { holder, logprobs } }: TextWireRules, body: JsonObject): number {
  const inside = holder === undefined ? body : body[holder]
  if (!isJsonObject(inside)) return 0
  const asked = logprobs.map((name) => inside[name]).filter((value) => value !== undefined)
  if (asked.length === 0) return 0
  const most = Math.max(...asked.map((value) => (typeof value === 'number' ? value : 0)))
  return Math.min(MAX_LOGPROBS, most) + 1
}

/** @throws DomainError `invalid_request` for a request whose unstreamed answer cannot be held */
export function checkAnswerFits(wire: TextWireRules, largest: LargestAnswer): void {
  const { outputTokens, bytesOfLogprobs } = largest
  if (outputTokens * (BYTES_PER_TOKEN + bytesOfLogprobs) + REST_BYTES <= MAX_TEXT_ANSWER_BYTES)
    return
  const { holder, bounds, answers } = wire.output
  const within = (name: string): string => (holder === undefined ? name : `${holder}.${name}`)
  const param = within(bounds[0])
  const fewer = answers === undefined ? '' : `, lower \`${within(answers)}\``
  const unasked = bytesOfLogprobs === 0 ? '' : ', leave out the log probabilities'
  refuse(
    param,
    `\`${param}\` allows an answer of over ${MAX_TEXT_ANSWER_BYTES / MEBIBYTE} MiB: lower it${fewer}${unasked}, or stream the answer`,
  )
}

/** The largest unstreamed answer. @param requestLength UTF-16 units of the body that is sent */
export function largestAnswerBytes(largest: LargestAnswer, requestLength: number): number {
  const { outputTokens, bytesOfLogprobs, hasMedia } = largest
  return Math.min(
    MAX_TEXT_ANSWER_BYTES,
    REST_BYTES +
      (hasMedia ? MEDIA_BYTES : 0) +
      requestLength * ESCAPED_LENGTH +
      outputTokens * (BYTES_PER_TOKEN + bytesOfLogprobs),
  )
}

/** Characters that may come beyond a bound of few tokens. */
const SPARE_CHARACTERS = 4_096

/** Whether more output came than the request allows: upstream does not follow its bound. */
export function isBeyond({ outputTokens }: LargestAnswer, { characters }: OutputSize): boolean {
  return characters > outputTokens * MOST_CHARACTERS_PER_TOKEN + SPARE_CHARACTERS
}

/** The bounds of a streamed answer; its last frame may hold all of it. */
export function frameBounds(
  largest: LargestAnswer,
  requestLength: number,
): { readonly maxFrameLength: number; readonly maxBytes: number } {
  const { outputTokens, bytesOfLogprobs } = largest
  const maxFrameLength = largestAnswerBytes(largest, requestLength)
  return {
    maxFrameLength,
    maxBytes:
      REPETITIONS * maxFrameLength + outputTokens * (FRAME_BYTES_PER_TOKEN + 2 * bytesOfLogprobs),
  }
}
