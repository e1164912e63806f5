import { free, type TextWireRules } from '../../text/rules/wire.ts'

/**
 * Rules of native generation requests. A tool is named by its member: `…Search` with nothing but
 * settings in it. Reading given addresses and running code cost tokens alone; maps are charged for
 * by call.
 */
export const nativeRules: TextWireRules = {
  name: 'native',
  output: { holder: 'generationConfig', bounds: ['maxOutputTokens'], answers: 'candidateCount' },
  namesToolsByMember: true,
  charges: [
    ...free('functionDeclarations', 'codeExecution', 'urlContext', 'computerUse', 'mcpServers'),
    // Searches stores of the account, and none of them can be a caller's.
    ['file*', 'unmetered'],
    ['*Search', 'web-search'],
    ['*SearchRetrieval', 'web-search'],
  ],
}
