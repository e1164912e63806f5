import { Type } from 'typebox'
import { textSurface, type TextUpstream } from '../../text/surface/calls.ts'
import { callExamples, callFailures } from '../../../api/kit/failures/call-failures.ts'
import type { Surface } from '../../../api/kit/routes/surface.ts'
import { describeV1 } from '../../../api/v1/documentation.ts'
import { AnyObject, open } from '../../text/surface/bodies.ts'
import { ChatBodySchema, readChatRequest } from './request.ts'
import { costMember } from '../../../api/kit/answers/answer-headers.ts'
import { oneLine, type StreamDialect } from '../../../api/kit/answers/event-stream.ts'
import { omitMembers } from '../../../api/kit/bodies/member-checks.ts'
import { v1Error } from '../../../api/v1/envelope.ts'
import { v1 } from '../../../api/v1/mount.ts'
import type { TextFrame } from '../../text/calls/types.ts'
import type { Cost, Settlement } from '../../../domain/pricing/settlement.ts'
import { parseExactly } from '../../../kernel/exact-integers.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'

const NULL_USAGE = ',"usage":null}'

function withUsage(chunk: JsonObject): JsonObject {
  if (isJsonObject(chunk['usage'])) return chunk
  return Object.hasOwn(chunk, 'choices') ? { ...chunk, usage: null } : chunk
}

function rewritten(data: string, includeUsage: boolean): string {
  const chunk = parseExactly(data)
  if (!isJsonObject(chunk)) return data
  return JSON.stringify(includeUsage ? withUsage(chunk) : omitMembers(chunk, ['usage']))
}

/**
 * The JSON of a chunk for the caller, or undefined if it is not for callers. Usage is sent only if
 * the caller requested it, and then every chunk has a `usage` member. A chunk is parsed only if its
 * text alone does not show its kind.
 */
function chatChunk(frame: TextFrame, includeUsage: boolean): string | undefined {
  const { data } = frame
  // The gateway writes the end mark itself, after everything else.
  if (data === '[DONE]' || (frame.usageOnly && !includeUsage)) return undefined
  const mentionsUsage = data.includes('"usage"')
  if (data.endsWith(NULL_USAGE))
    return includeUsage ? data : `${data.slice(0, -NULL_USAGE.length)}}`
  if (!mentionsUsage) {
    if (!includeUsage || !data.includes('"choices"')) return data
    if (data.endsWith('}')) return data.slice(0, -1) + NULL_USAGE
  }
  return rewritten(data, includeUsage)
}

/**
 * The gateway's own chunk with the cost of the call, with the id of the one before it. It has no
 * `usage`: clients that merge chunks would take a null as the final usage.
 */
function costChunk(before: string, cost: Cost): string {
  return chunkAfter(before, { cost: costMember(cost) })
}

/** A chunk of the gateway's own without choices, with the id of the one before it. */
function chunkAfter(before: string, members: JsonObject): string {
  const chunk: unknown = JSON.parse(before)
  const { id, created, model } = isJsonObject(chunk) ? chunk : {}
  return JSON.stringify({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices: [],
    ...members,
  })
}

/** The chunk with the settled usage, for a caller who asked for what upstream did not report. */
function usageChunk(before: string, { lines }: Settlement): string {
  const tokens = (isCounted: (rule: string) => boolean): number =>
    lines.reduce((sum, { rule, quantity }) => sum + (isCounted(rule) ? quantity : 0), 0)
  const completion = tokens((rule) => rule.endsWith('/output'))
  const prompt = tokens((rule) => !rule.endsWith('/output') && !rule.endsWith('-count'))
  return chunkAfter(before, {
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
    },
  })
}

const USAGE_OBJECT = /"usage"\s*:\s*\{/

/** Frames of chat streams: `data:` lines only, `[DONE]` at the end. */
function chatDialect(includeUsage: boolean): StreamDialect<TextFrame> {
  let before = '{}'
  let isUsageDue = includeUsage
  return {
    frame: (frame) => {
      const data = chatChunk(frame, includeUsage)
      if (data === undefined) return undefined
      before = data
      isUsageDue &&= !USAGE_OBJECT.test(data)
      return `data: ${oneLine(data)}\n\n`
    },
    settled: (settlement) =>
      isUsageDue && settlement.lines.length > 0
        ? `data: ${usageChunk(before, settlement)}\n\n`
        : undefined,
    last: (cost) => `data: ${costChunk(before, cost)}\n\n`,
    failure: (error) => `data: ${JSON.stringify({ error: v1Error(error) })}\n\n`,
    end: 'data: [DONE]\n\n',
  }
}

const Count = Type.Integer({ minimum: 0 })

const ChatCompletionSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer(),
    model: Type.String({ description: 'Model name of the request.' }),
    choices: Type.Array(AnyObject),
    usage: Type.Object(
      {
        prompt_tokens: Count,
        completion_tokens: Count,
        total_tokens: Count,
        prompt_tokens_details: Type.Object(
          {
            cached_tokens: Type.Optional(Count),
            cached_write_tokens: Type.Optional(Count),
            cached_write_5m_tokens: Type.Optional(Count),
            cached_write_1h_tokens: Type.Optional(Count),
          },
          { ...open, description: 'Cache writes are absent when there are none.' },
        ),
      },
      open,
    ),
  },
  { ...open, named: 'ChatCompletion' },
)

/** Chat completions, below `/v1`. */
export const chatSurface = (upstream: TextUpstream): Surface =>
  textSurface(
    v1,
    {
      name: 'v1.chat',
      path: '/chat/completions',
      body: ChatBodySchema,
      documented: describeV1({
        tag: 'Text',
        operationId: 'createChatCompletion',
        isCall: true,
        summary: 'Complete a chat',
        ok: ChatCompletionSchema,
        events: 'With `stream`: chunks as `data:` lines, and `[DONE]`.',
        failures: callFailures,
        further: callExamples('messages'),
      }),
      read: (body) => {
        const { stream, includeUsage, ...asked } = readChatRequest(body)
        return { ...asked, dialect: stream ? chatDialect(includeUsage) : undefined }
      },
    },
    upstream,
  )
