import type { TextRequest } from '../../../app/text-ports.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import { bytesOf } from '../../kit/text/output.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { responsesUsageView, type ToolCounts } from './wire.ts'

/** Why a response failed, its message fit for callers; undefined when it did not. */
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

/** How one call's caller names what upstream names otherwise. */
export type Naming = Pick<TextRequest, 'model' | 'keptId'>

/** Tokens of all that was said up to the end of a response; undefined while nothing says so. */
function conversationTokens({ usage }: JsonObject): number | undefined {
  const { input_tokens: input, output_tokens: output } = objectOf(usage)
  const [before, said] = [countOf(input), countOf(output)]
  return before === undefined || said === undefined ? undefined : before + said
}

/** What upstream keeps is named by ids of ours, bound to the tenant (P8). */
function responseIds(response: JsonObject, { keptId }: Naming): JsonObject {
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
export function itemView(item: JsonObject, keptId: Naming['keptId']): JsonObject {
  const id = textOf(item['id'])
  return id === undefined ? item : { ...item, id: keptId('item', id) }
}

/**
 * A response as callers see it: external model, ids of ours, neutral error, tool counts in its usage
 * and, as callers of this surface may expect, the function calls once more under `tool_calls`.
 */
export function responseView(
  response: JsonObject,
  naming: Naming,
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

/** UTF-8 bytes of what the output items say. */
export function outputBytes(output: readonly JsonObject[]): number {
  let bytes = 0
  for (const item of output) {
    bytes += bytesOf(item['name']) + bytesOf(item['arguments']) + bytesOf(item['input'])
    for (const part of [...objectsOf(item['content']), ...objectsOf(item['summary'])])
      bytes += bytesOf(part['text']) + bytesOf(part['refusal'])
  }
  return bytes
}
