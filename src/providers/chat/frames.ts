import type { TextRequest } from '../../app/ports.ts'
import type { TextUsage } from '../../domain/call/usage.ts'
import { malformed } from '../kit/failures.ts'
import { type Fields, fieldsOf, isFields, objectsOf, parseFields } from '../kit/fields.ts'
import { readPlainError, unknownError } from '../kit/plain-errors.ts'
import { createMemberRewriter } from '../kit/rewrite.ts'
import type { Scrubber } from '../kit/scrub.ts'
import { fromStreamError } from '../kit/text-errors.ts'
import type { FrameReader } from '../kit/text-wire.ts'
import { chatOutputBytes } from './output.ts'
import { chatUsage, chatUsageView } from './usage.ts'

const DONE = '[DONE]'
const NO_USAGE = ',"usage":null'

/** Whether the caller asked for usage; upstream is always asked. */
export function wantsUsage(body: Fields): boolean {
  return fieldsOf(body['stream_options'])['include_usage'] === true
}

/** Follows a chat stream (wire.md §7.2). */
export function chatFrameReader(request: TextRequest, scrub: Scrubber): FrameReader {
  const rewriteModel = createMemberRewriter('model', request.model)
  const asked = wantsUsage(request.body)
  let usage: TextUsage | undefined
  let outputBytes = 0
  let finished = false
  let over = false
  let failure: { readonly code: string; readonly message: string } | undefined

  /** Takes a chunk's choices into account. */
  const follow = (choices: readonly Fields[]): void => {
    for (const choice of choices) {
      outputBytes += chatOutputBytes(choice['delta'])
      if (typeof choice['finish_reason'] === 'string') finished = true
    }
  }
  const shown = (data: string, chunk: Fields, alone: boolean): string => {
    const found = chunk['usage']
    if (isFields(found)) {
      // The caller sees it in the spec's names, or not at all if it did not ask.
      const { usage: _usage, ...rest } = chunk
      const visible = asked || alone ? { ...chunk, usage: chatUsageView(found) } : rest
      return JSON.stringify('model' in visible ? { ...visible, model: request.model } : visible)
    }
    const named = rewriteModel(data, chunk)
    if (asked || found !== null) return named
    const at = named.indexOf(NO_USAGE)
    return at === -1 || named.includes(NO_USAGE, at + 1)
      ? named
      : named.slice(0, at) + named.slice(at + NO_USAGE.length)
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) {
        finished = true
        over = true
        return undefined
      }
      const chunk = parseFields(data)
      if (chunk === undefined) throw malformed()
      const error = readPlainError(chunk)
      if (error !== undefined || event === 'error') {
        const thrown = fromStreamError(error ?? unknownError, scrub)
        failure = { code: thrown.code ?? 'upstream_error', message: thrown.message }
        throw thrown
      }
      const choices = objectsOf(chunk['choices'])
      follow(choices)
      usage = chatUsage(chunk['usage']) ?? usage
      const usageOnly = choices.length === 0 && isFields(chunk['usage'])
      return {
        event: undefined,
        data: shown(data, chunk, usageOnly),
        usageOnly,
        terminal: finished || usageOnly,
      }
    },
    tally: () => ({ usage, outputBytes, finished, failure }),
    over: () => over,
  }
}
