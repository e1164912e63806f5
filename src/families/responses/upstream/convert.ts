import type { CallerNames } from '../ports.ts'
import type { TextUsage, ToolUnit } from '../../text/rules/tokens.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import type { Scrubber } from '../../kit/http/scrubber.ts'
import type { OutputSize } from '../../text/rules/measure.ts'
import { cacheDetails, cacheUsageOf, OutputCount } from '../../text/upstream/answer-differences.ts'
import { NOTHING_READ, readFigures, type TextReading } from '../../text/upstream/report.ts'

/** Calls of the provider's own tools; upstream's `usage` has no counters for them. */
type ToolCounts = Pick<TextUsage, ToolUnit>

export const noTools: ToolCounts = {
  'web-search-call': 0,
  'code-interpreter-session': 0,
  'file-search-call': 0,
}

/**
 * Counts finished output items. A search is charged by call; opening a page that was found earlier
 * is no search. Code runs in containers, and each container is one session, however often it is
 * used.
 */
export function toolCounts(output: readonly JsonObject[]): ToolCounts {
  let webSearches = 0
  let fileSearches = 0
  const containers = new Set<string>()
  for (const item of output) {
    if (item['status'] !== undefined && item['status'] !== 'completed') continue
    const action = textOf(objectOf(item['action'])['type'])
    if (item['type'] === 'file_search_call') fileSearches += 1
    else if (item['type'] === 'code_interpreter_call')
      containers.add(textOf(item['container_id']) ?? '')
    else if (item['type'] === 'web_search_call' && (action === undefined || action === 'search'))
      webSearches += 1
  }
  return {
    'web-search-call': webSearches,
    'code-interpreter-session': containers.size,
    'file-search-call': fileSearches,
  }
}

/** The `usage` of a response by billing unit. */
export function responsesUsage(usage: unknown, tools: ToolCounts): TextReading {
  if (!isJsonObject(usage)) return NOTHING_READ
  return readFigures({
    input: countOf(usage['input_tokens']),
    output: countOf(usage['output_tokens']),
    cache: cacheUsageOf(objectOf(usage['input_tokens_details']), usage),
    reasoning: countOf(objectOf(usage['output_tokens_details'])['reasoning_tokens']),
    total: countOf(usage['total_tokens']),
    tools,
  })
}

/**
 * A `usage` as callers see it, with the cache names of this surface and the counts of billed tools.
 */
function responsesUsageView(usage: JsonObject, tools: ToolCounts): JsonObject {
  const details = usage['input_tokens_details']
  const counts = Object.entries({
    web_search_calls: tools['web-search-call'],
    code_interpreter_sessions: tools['code-interpreter-session'],
    file_search_calls: tools['file-search-call'],
  }).filter(([, count]) => count > 0)
  return {
    ...usage,
    ...(isJsonObject(details) ? { input_tokens_details: cacheDetails(details) } : {}),
    ...(counts.length === 0 ? {} : { server_tool_usage: Object.fromEntries(counts) }),
  }
}

/** Why a response failed, with a scrubbed message; undefined if it did not fail. */
export function failureOf(
  response: JsonObject,
  scrub: Scrubber,
): { readonly code: string; readonly message: string } | undefined {
  if (response['status'] !== 'failed') return undefined
  const error = isJsonObject(response['error']) ? response['error'] : {}
  return {
    code: textOf(error['code']) ?? 'server_error',
    message: scrub(textOf(error['message']) ?? ''),
  }
}

/** Tokens of the conversation up to the end of a response; undefined without usage. */
function conversationTokens({ usage }: JsonObject): number | undefined {
  const { input_tokens: input, output_tokens: output } = objectOf(usage)
  const [before, said] = [countOf(input), countOf(output)]
  return before === undefined || said === undefined ? undefined : before + said
}

/** Replaces upstream's ids by the gateway's, which are bound to the tenant (P8). */
function responseIds(response: JsonObject, { keptId }: CallerNames): JsonObject {
  const { id, previous_response_id: previous, output } = response
  const tokens = conversationTokens(response)
  return {
    ...(textOf(id) === undefined ? {} : { id: keptId('response', String(id), tokens) }),
    ...(textOf(previous) === undefined
      ? {}
      : { previous_response_id: keptId('response', String(previous)) }),
    ...(Array.isArray(output)
      ? {
          output: output.map((item: unknown) =>
            isJsonObject(item) ? itemView(item, keptId) : item,
          ),
        }
      : {}),
  }
}

/** An item of the output as callers see it: they may name it in place of its content. */
export function itemView(item: JsonObject, keptId: CallerNames['keptId']): JsonObject {
  const id = textOf(item['id'])
  return id === undefined ? item : { ...item, id: keptId('item', id) }
}

/**
 * A response as callers see it: external model, the gateway's ids, neutral error, tool counts in
 * its usage and, as callers of this surface may expect, the function calls once more under
 * `tool_calls`.
 */
export function responseView(
  response: JsonObject,
  naming: CallerNames,
  tools: ToolCounts,
  scrub: Scrubber,
): JsonObject {
  const named = { ...response, ...responseIds(response, naming) }
  const calls = objectsOf(named['output']).filter((item) => item['type'] === 'function_call')
  const { error, usage } = response
  return {
    ...named,
    ...('model' in response ? { model: naming.model } : {}),
    ...(isJsonObject(error) ? { error: { ...error, message: failureMessage(error, scrub) } } : {}),
    ...(isJsonObject(usage) ? { usage: responsesUsageView(usage, tools) } : {}),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function failureMessage(error: JsonObject, scrub: Scrubber): string {
  return scrub(textOf(error['message']) ?? '')
}

/** Size of the output items' content. */
export function outputSize(output: readonly JsonObject[]): OutputSize {
  const count = new OutputCount()
  for (const item of output) {
    for (const name of ['name', 'arguments', 'input']) count.add(item[name])
    const isReasoning = item['type'] === 'reasoning'
    for (const part of [...objectsOf(item['content']), ...objectsOf(item['summary'])]) {
      if (isReasoning) count.addReasoning(part['text'])
      else count.add(part['text'])
      count.add(part['refusal'])
    }
  }
  return count.size(1)
}
