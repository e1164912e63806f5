import type { CallUsage } from '../calls/store.ts'
import { type Faults, isOn } from '../faults/vocabulary.ts'

/** Tokens written to the cache, as chat and responses tell them: only where one is written. */
export function cacheWriteFields(usage: CallUsage, caches: boolean, faults: Faults) {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  if (!caches && written === 0) return {}
  if (isOn(faults, 'cache-unsplit')) return { cache_write_tokens: written }
  return {
    cache_write_tokens: written,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
  }
}
