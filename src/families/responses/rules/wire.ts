import { isJsonObject } from '../../../kernel/json.ts'
import { free, type TextWireRules } from '../../text/rules/wire.ts'

/** Rules of responses requests. Types of tools begin with these names, where versions follow. */
export const responsesRules: TextWireRules = {
  name: 'responses',
  output: { bounds: ['max_output_tokens'], logprobs: ['top_logprobs'] },
  charges: [
    ...free('function', 'custom', 'mcp', 'local_shell', 'apply_patch', 'tool_search', 'namespace'),
    ['computer*', 'tokens'],
    ['web_search*', 'web-search'],
    ['code_interpreter*', 'code-interpreter'],
    ['file_search*', 'file-search'],
  ],
  furtherTools: ['shell in a local environment'],
  // A shell of the caller is free; a shell in a container upstream is charged by container.
  isFree: ({ type, environment }) =>
    type === 'shell' && isJsonObject(environment) && environment['type'] === 'local',
  keepsAnswers: true,
}
