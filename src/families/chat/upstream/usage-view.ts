import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { objectOf } from '../../kit/http/fields.ts'
import { WRITTEN, WRITTEN_1H, WRITTEN_5M } from '../../kit/text/cache-usage.ts'

const writeNames = new Set([...WRITTEN, ...WRITTEN_5M, ...WRITTEN_1H, 'cache_creation'])

function withoutWrites(holder: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(holder).filter(([name]) => !writeNames.has(name)))
}

function firstCount(places: readonly JsonObject[], names: readonly string[]): number {
  for (const place of places)
    for (const name of names) {
      const value = place[name]
      if (typeof value === 'number' && value > 0) return value
    }
  return 0
}

/**
 * `usage` as callers see it: cache writes under one set of names, left out when there are none.
 * Writes that upstream does not split count as 5-minute ones, as they are billed.
 */
function shownUsage(usage: JsonObject): JsonObject {
  const details = objectOf(usage['prompt_tokens_details'])
  const places = [
    details,
    usage,
    objectOf(details['cache_creation']),
    objectOf(usage['cache_creation']),
  ]
  const mentioned = places.some((place) => Object.keys(place).some((name) => writeNames.has(name)))
  if (!mentioned) return usage
  const oneHour = firstCount(places, WRITTEN_1H)
  const split = firstCount(places, WRITTEN_5M)
  const total = Math.max(firstCount(places, WRITTEN), split + oneHour)
  const fiveMinutes = total - oneHour
  return {
    ...withoutWrites(usage),
    prompt_tokens_details: {
      ...withoutWrites(details),
      ...(total > 0 ? { cached_write_tokens: total } : {}),
      ...(fiveMinutes > 0 ? { cached_write_5m_tokens: fiveMinutes } : {}),
      ...(oneHour > 0 ? { cached_write_1h_tokens: oneHour } : {}),
    },
  }
}

/** An answer or chunk with its `usage` as callers see it; the same object where nothing differs. */
export function withShownUsage(body: JsonObject): JsonObject {
  const { usage } = body
  if (!isJsonObject(usage)) return body
  const shown = shownUsage(usage)
  return shown === usage ? body : { ...body, usage: shown }
}
