import { createHash } from 'node:crypto'
import type { CallUsage } from '../calls/store.ts'
import { isOn, type Faults } from '../faults/vocabulary.ts'
import { unitTokens, type TextOrder } from './order.ts'

/** What the prompt cache did for one call, in tokens. */
export interface CacheUse {
  readonly read: number
  readonly written5m: number
  readonly written1h: number
}

export const NO_CACHE: CacheUse = { read: 0, written5m: 0, written1h: 0 }

const SHORT_MS = 300_000
const LONG_MS = 3_600_000
const MAX_ENTRIES = 10_000

interface Entry {
  expiresAtMs: number
  readonly lifeMs: number
}

/** A text without markers, which differ from call to call: they must not keep a prompt from being found again. */
export function plain(text: string): string {
  return text.includes('[[')
    ? text.replace(/\[\[(?:sandbox\s|client=)[^[\]]{0,2000}\]\]/g, '')
    : text
}

/**
 * Remembers the beginnings of prompts. A prompt of several messages is remembered up to each of
 * them but the last, a prompt of one message as a whole. Of a prompt, the longest remembered
 * beginning is read and the rest of what can be remembered is written.
 */
export class PrefixCache {
  readonly #entries = new Map<string, Entry>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  use(order: TextOrder, credential: string): CacheUse {
    const nowMs = this.#nowMs()
    const count = Math.max(1, order.units.length - 1)
    const hash = createHash('sha1').update(
      `${credential}\n${order.model.name}\n${order.toolTokens}`,
    )
    const marks: { key: string; tokens: number }[] = []
    let tokens = order.toolTokens
    let lifeMs = SHORT_MS
    let read = 0
    for (const unit of order.units.slice(0, count)) {
      hash.update(`\n${unit.role}\n${plain(unit.text)}\n${unit.media.join()}`)
      tokens += unitTokens(unit)
      if (unit.longCache) lifeMs = LONG_MS
      const key = hash.copy().digest('base64')
      marks.push({ key, tokens })
      if (this.#touch(key, nowMs)) read = tokens
    }
    for (const { key, tokens } of marks) if (tokens > read) this.#add(key, lifeMs, nowMs)
    const written = tokens - read
    return lifeMs === LONG_MS
      ? { read, written5m: 0, written1h: written }
      : { read, written5m: written, written1h: 0 }
  }

  /** A read keeps an entry for another life. */
  #touch(key: string, nowMs: number): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.expiresAtMs <= nowMs) return false
    entry.expiresAtMs = nowMs + entry.lifeMs
    return true
  }

  #add(key: string, lifeMs: number, nowMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { expiresAtMs: nowMs + lifeMs, lifeMs })
    if (this.#entries.size <= MAX_ENTRIES) return
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }

  reset(): void {
    this.#entries.clear()
  }
}

/** Tokens written to the cache, as chat and responses report them: only where one is written. */
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
