import { isJsonObject } from '../../../kernel/json.ts'
import { free, type TextWireRules } from '../../text/rules/wire.ts'

/**
 * Rules of chat completion requests. Types of tools begin with these names, where versions follow:
 * `web_search_preview_…`.
 */
export const chatRules: TextWireRules = {
  name: 'chat',
  output: {
    bounds: ['max_completion_tokens', 'max_tokens'],
    answers: 'n',
    logprobs: ['logprobs', 'top_logprobs'],
  },
  charges: [...free('function', 'custom'), ['web_search*', 'web-search']],
  // Given at all, it is asked for.
  asksForSearch: (body) => isJsonObject(body['web_search_options']),
  // Models that are made for searching need no request for it.
  searchesUnasked: true,
}
