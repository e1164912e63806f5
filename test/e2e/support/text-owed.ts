import type { CallView } from '../../../infra/sandbox/calls/store.ts'

/** Quantities of the provider's record of a text call by SKU; a zero writes no line. */
export function owed({ model: of, usage, tool_calls }: CallView): Record<string, number> {
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const quantities = {
    [`${of}-input-token`]:
      usage.input_tokens - usage.cached_input_tokens - written + usage.tool_prompt_tokens,
    [`${of}-cached-input-token`]: usage.cached_input_tokens,
    [`${of}-cache-write-5m-token`]: usage.cache_write_5m_tokens,
    [`${of}-cache-write-1h-token`]: usage.cache_write_1h_tokens,
    [`${of}-output-token`]: usage.output_tokens,
    'web-search-call': tool_calls['web_search'] ?? 0,
  }
  return Object.fromEntries(Object.entries(quantities).filter(([, quantity]) => quantity > 0))
}
