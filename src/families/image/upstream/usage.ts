import type { ImageTokenUnit } from '../rules/pricing.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { countOrZero, isGiven, objectOf } from '../../kit/http/fields.ts'

/**
 * Usage of the Images API as counts by unit: what was read from a cache is not input besides. Where
 * only the sum of cached tokens is told, it is taken for pictures first, which is to the caller's
 * advantage. Undefined members: no figures, or figures that are none.
 */
export function imageUsage(usage: JsonObject): Readonly<Partial<Record<ImageTokenUnit, number>>> {
  const details = objectOf(usage['input_tokens_details'])
  const input = count(usage['input_tokens'])
  const output = count(usage['output_tokens'])
  const text = countOrZero(details['text_tokens'])
  const image = countOrZero(details['image_tokens'])
  if (input === undefined || output === undefined) return {}
  if (text === undefined || image === undefined || text + image > input) return {}
  const cached = cachedTokens(details, text, image)
  // What belongs to neither is text: it costs less.
  const plainText = input - image
  return {
    'text-input': plainText - cached.text,
    'cached-text-input': cached.text,
    'image-input': image - cached.image,
    'cached-image-input': cached.image,
    'image-output': output,
  }
}

function count(value: unknown): number | undefined {
  return isGiven(value) ? countOrZero(value) : undefined
}

function cachedTokens(details: JsonObject, text: number, image: number) {
  const split = objectOf(details['cached_tokens_details'])
  const ofImages = Math.min(
    image,
    countOrZero(split['image_tokens'] ?? details['cached_tokens']) ?? 0,
  )
  const rest = (countOrZero(details['cached_tokens']) ?? 0) - ofImages
  const ofText = countOrZero(split['text_tokens'] ?? Math.max(0, rest)) ?? 0
  return { image: ofImages, text: Math.min(text, ofText) }
}
