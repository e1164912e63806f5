import { free, type TextWireRules } from '../../text/rules/wire.ts'

/**
 * Rules of native generation requests. The name of a tool is its member, such as `…Search`, whose
 * value holds settings only. Reading given URLs and running code cost tokens only; maps are charged
 * by call.
 */
export const nativeRules: TextWireRules = {
  name: 'native',
  output: {
    holder: 'generationConfig',
    bounds: ['maxOutputTokens'],
    answers: 'candidateCount',
    logprobs: ['responseLogprobs', 'logprobs'],
  },
  answersMedia: true,
  namesToolsByMember: true,
  charges: [
    ...free('functionDeclarations', 'codeExecution', 'urlContext', 'computerUse', 'mcpServers'),
    // Searches stores of the operator's account, which never belong to a caller.
    ['file*', 'unmetered'],
    ['*Search', 'web-search'],
    ['*SearchRetrieval', 'web-search'],
  ],
}
