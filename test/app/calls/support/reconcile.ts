import type { CallView } from '../../../../infra/sandbox/calls/store.ts'
import type { CallEventData } from '../../../../src/domain/call/events.ts'

/** What an accepted call of the sandbox has to be settled as, by billing unit. */
export function unitsOf(accepted: CallView): Readonly<Record<string, number>> {
  const { usage, tool_calls: tools } = accepted
  return {
    input:
      usage.input_tokens -
      usage.cached_input_tokens -
      usage.cache_write_5m_tokens -
      usage.cache_write_1h_tokens +
      usage.tool_prompt_tokens,
    'cached-input': usage.cached_input_tokens,
    'cache-write-5m': usage.cache_write_5m_tokens,
    'cache-write-1h': usage.cache_write_1h_tokens,
    output: usage.output_tokens,
    'web-search-call': tools['web_search'] ?? 0,
    // The sandbox has one container, however often code runs in it.
    'code-interpreter-session': Math.min(1, tools['code_interpreter'] ?? 0),
    'file-search-call': tools['file_search'] ?? 0,
  }
}

/** What was billed, line by line: SKU to quantity. */
export function billed(settled: CallEventData<'CallSettled'>): Readonly<Record<string, number>> {
  return Object.fromEntries(settled.settlement.lines.map((line) => [line.sku, line.quantity]))
}
