import type { Clock } from '../../../kernel/clock.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { newSecret } from '../../../kernel/ids.ts'
import { RESULT_LIFE_MS, resultKey } from '../../../storage/object-key.ts'
import type { ObjectStore } from '../../../storage/types.ts'
import type { KeepImage } from './deps.ts'

/** Keeps pictures in the store. What it throws is the store's, and `image_url_not_available`. */
export function createKeepImage(store: ObjectStore, clock: Clock): KeepImage {
  return async (bytes, mediaType) => {
    const nowMs = clock.nowMs()
    const key = resultKey(nowMs, newSecret(''), mediaType)
    await store.put(key, bytes, { sizeBytes: bytes.length })
    const url = await store.publicUrl(key, nowMs + RESULT_LIFE_MS)
    if (url === undefined)
      throw new DomainError('image_url_not_available', 'Nobody can reach what is kept', {})
    return url
  }
}
