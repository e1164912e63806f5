import type { TextFrame } from '../../app/calls/types.ts'
import { isJsonObject, type JsonObject } from '../../domain/catalog/field-checks.ts'
import { oneLine, type StreamDialect } from '../kit/event-stream.ts'
import { given } from '../kit/member-checks.ts'
import { v1Error } from './envelope.ts'

function outputItems(response: JsonObject): readonly JsonObject[] {
  const output = given(response, 'output')
  return Array.isArray(output) ? (output as readonly unknown[]).filter(isJsonObject) : []
}

/** Calls of provider-run tools, by the names of `wire.md` §16 row 2; only those that happened. */
function serverToolUsage(items: readonly JsonObject[]): JsonObject {
  const of = (type: string): readonly JsonObject[] =>
    items.filter((item) => given(item, 'type') === type)
  const interpreted = of('code_interpreter_call')
  // Calls in one container share its session.
  const sessions = new Set(interpreted.map((item) => given(item, 'container_id') ?? item))
  const counts = {
    web_search_calls: of('web_search_call').length,
    code_interpreter_sessions: sessions.size,
    file_search_calls: of('file_search_call').length,
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

/**
 * A response for the caller (spec §2.2): with `tool_calls` copied from its function calls, and the
 * counts of provider-run tools in `usage`.
 */
export function responsesAnswer(response: JsonObject): JsonObject {
  const items = outputItems(response)
  const calls = items.filter((item) => given(item, 'type') === 'function_call')
  const tools = serverToolUsage(items)
  const usage = given(response, 'usage')
  return {
    ...response,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(isJsonObject(usage) && Object.keys(tools).length > 0
      ? { usage: { ...usage, server_tool_usage: tools } }
      : {}),
  }
}

const terminalEvents: ReadonlySet<string | undefined> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

/** The event's data; only one that ends the stream says more than upstream did. */
function eventData(frame: TextFrame): string {
  if (!terminalEvents.has(frame.event) || !frame.data.includes('_call"')) return frame.data
  const event: unknown = JSON.parse(frame.data)
  if (!isJsonObject(event)) return frame.data
  const response = given(event, 'response')
  return isJsonObject(response)
    ? JSON.stringify({ ...event, response: responsesAnswer(response) })
    : frame.data
}

function sequenceOf(data: string): number | undefined {
  const found = /"sequence_number"\s*:\s*(\d{1,15})/.exec(data)?.[1]
  return found === undefined ? undefined : Number(found)
}

/** How responses streams are written: every event as it comes, known or not (wire.md §8.2). */
export function responsesDialect(): StreamDialect<TextFrame> {
  let last = ''
  return {
    frame: (frame) => {
      if (frame.data === '[DONE]') return undefined
      last = frame.data
      const data = oneLine(eventData(frame))
      return frame.event === undefined
        ? `data: ${data}\n\n`
        : `event: ${frame.event}\ndata: ${data}\n\n`
    },
    failure: (error) => {
      const { code, message, param } = v1Error(error)
      const sequence_number = (sequenceOf(last) ?? -1) + 1
      const data = { type: 'error', sequence_number, code, message, param }
      return `event: error\ndata: ${JSON.stringify(data)}\n\n`
    },
    end: '',
  }
}
