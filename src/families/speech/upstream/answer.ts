import type { JsonObject } from '../../../kernel/json.ts'
import { CHARACTERS } from '../../../domain/families/speech/pricing.ts'
import type { SpeechSeen } from '../../../domain/families/speech/rules.ts'
import { losslessCount, objectOf } from '../../kit/http/fields.ts'

/** What of an answer with audio is for callers, and what it is settled on. */

const MAX_SHOWN_MEMBERS = 24

/** `extra_info`: plain values, whatever they are called. */
export function shownOf(body: JsonObject): JsonObject {
  const info = Object.entries(objectOf(body['extra_info']))
    .filter(([, value]) => value === null || typeof value !== 'object')
    .slice(0, MAX_SHOWN_MEMBERS)
  return info.length === 0 ? {} : { extra_info: Object.fromEntries(info) }
}

/** How many characters upstream counted; nothing, where it does not say. */
export function seenOf(body: JsonObject): SpeechSeen {
  const characters = losslessCount(objectOf(body['extra_info'])['usage_characters'])
  return { usage: characters === undefined ? {} : { [CHARACTERS]: characters } }
}
