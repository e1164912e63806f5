import type { TextFrame } from '../../../app/calls/text/types.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { without } from '../../../api/kit/member-checks.ts'

const NULL_USAGE = ',"usage":null}'

function withUsage(chunk: JsonObject): JsonObject {
  if (isJsonObject(chunk['usage'])) return chunk
  return Object.hasOwn(chunk, 'choices') ? { ...chunk, usage: null } : chunk
}

function rewritten(data: string, includeUsage: boolean): string {
  const chunk: unknown = JSON.parse(data)
  if (!isJsonObject(chunk)) return data
  return JSON.stringify(includeUsage ? withUsage(chunk) : without(chunk, ['usage']))
}

/**
 * The JSON of a chunk for the caller, or undefined when it is not for them: usage only where it was
 * asked for, and then a `usage` member in every chunk. Chunks are parsed only where
 * their text does not tell.
 */
export function chatChunk(frame: TextFrame, includeUsage: boolean): string | undefined {
  const { data } = frame
  // The end is ours to say: after it nothing can be.
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
