import { isJsonObject } from '../../../kernel/json.ts'
import { free, type TextWireRules } from '../../text/rules/wire.ts'

/** What chat completions say of their requests. Types of tools begin so, where versions follow: `web_search_preview_…`. */
export const chatRules: TextWireRules = {
  name: 'chat',
  output: { bounds: ['max_completion_tokens', 'max_tokens'], answers: 'n' },
  charges: [...free('function', 'custom'), ['web_search*', 'web-search']],
  // Given at all, it is asked for.
  asksForSearch: (body) => isJsonObject(body['web_search_options']),
  // Those that are made for searching.
  searchesUnasked: true,
}
