import type { TextFrame } from '../../../app/calls/text/types.ts'
import { isJsonObject, type JsonObject } from '../../../domain/families/checks/fields.ts'
import { given, without } from '../../kit/member-checks.ts'

/** Names by which upstreams report cache writes; ours are those of this surface. */
const totalNames = ['cached_write_tokens', 'cache_write_tokens', 'cache_creation_input_tokens']
const fiveMinuteNames = [
  'cached_write_5m_tokens',
  'cache_write_5m_tokens',
  'ephemeral_5m_input_tokens',
]
const oneHourNames = [
  'cached_write_1h_tokens',
  'cache_write_1h_tokens',
  'ephemeral_1h_input_tokens',
]
const writeNames = [...totalNames, ...fiveMinuteNames, ...oneHourNames, 'cache_creation']

function objectIn(object: JsonObject, name: string): JsonObject {
  const value = given(object, name)
  return isJsonObject(value) ? value : {}
}

function firstCount(places: readonly JsonObject[], names: readonly string[]): number {
  for (const place of places)
    for (const name of names) {
      const value = given(place, name)
      if (typeof value === 'number' && value > 0) return value
    }
  return 0
}

/**
 * `usage` with cache writes under this surface's names, omitted when empty. Writes that
 * upstream does not split count as 5-minute ones, as they are billed.
 */
export function spellUsage(usage: JsonObject): JsonObject {
  const details = objectIn(usage, 'prompt_tokens_details')
  const places = [
    details,
    usage,
    objectIn(details, 'cache_creation'),
    objectIn(usage, 'cache_creation'),
  ]
  if (!places.some((place) => writeNames.some((name) => Object.hasOwn(place, name)))) return usage
  const oneHour = firstCount(places, oneHourNames)
  const split = firstCount(places, fiveMinuteNames)
  const total = Math.max(firstCount(places, totalNames), split + oneHour)
  const fiveMinutes = total - oneHour
  return {
    ...without(usage, writeNames),
    prompt_tokens_details: {
      ...without(details, writeNames),
      ...(total > 0 ? { cached_write_tokens: total } : {}),
      ...(fiveMinutes > 0 ? { cached_write_5m_tokens: fiveMinutes } : {}),
      ...(oneHour > 0 ? { cached_write_1h_tokens: oneHour } : {}),
    },
  }
}

/** The answer of an unstreamed call. */
export function chatAnswer(body: JsonObject): JsonObject {
  const usage = given(body, 'usage')
  return isJsonObject(usage) ? { ...body, usage: spellUsage(usage) } : body
}

const NULL_USAGE = ',"usage":null}'

function withUsage(chunk: JsonObject): JsonObject {
  const usage = given(chunk, 'usage')
  if (isJsonObject(usage)) return { ...chunk, usage: spellUsage(usage) }
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
