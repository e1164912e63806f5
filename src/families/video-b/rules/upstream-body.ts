import type { JsonObject } from '../../../kernel/json.ts'
import type { LongText } from '../../../domain/families/checks/strict-data-uri.ts'
import type { MediaItem } from './content.ts'
import type { AcceptedVideoB } from './request.ts'

/**
 * What upstream gets, without `model`: every setting, and each item with its role. `urlOf` says where
 * the media of an item is for upstream.
 */
export function upstreamBodyOf(
  { prompt, media, settings }: AcceptedVideoB,
  urlOf: (item: MediaItem) => LongText,
  callbackUrl: string | undefined,
): JsonObject {
  return {
    content: [
      { type: 'text', text: prompt },
      ...media.map((item) => ({
        type: `${item.kind}_url`,
        role: item.role,
        [`${item.kind}_url`]: { url: urlOf(item) },
      })),
    ],
    ...settings,
    ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
  }
}
