import { noTextUsage, type TextUsage } from '../../domain/call/usage.ts'
import { cacheUsageOf } from '../kit/cache-usage.ts'
import { countOf, fieldsOf, isFields, isGiven } from '../kit/fields.ts'

/**
 * The `usage` of chat (wire.md §7.1) by billing unit: cache hits and writes come out of
 * `prompt_tokens`, reasoning is part of `completion_tokens`. Undefined when a figure is missing or
 * none: then nothing was reported.
 */
export function chatUsage(usage: unknown): TextUsage | undefined {
  if (!isFields(usage)) return undefined
  if (!isGiven(usage['prompt_tokens']) || !isGiven(usage['completion_tokens'])) return undefined
  const prompt = countOf(usage['prompt_tokens'])
  const output = countOf(usage['completion_tokens'])
  const cache = cacheUsageOf(fieldsOf(usage['prompt_tokens_details']), usage)
  if (prompt === undefined || output === undefined || cache === undefined) return undefined
  return {
    ...noTextUsage,
    input: Math.max(0, prompt - cache.read - cache.written5m - cache.written1h),
    cachedInput: cache.read,
    cacheWrite5m: cache.written5m,
    cacheWrite1h: cache.written1h,
    output,
  }
}
