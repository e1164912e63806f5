import { free, type TextWireRules } from '../../text/rules/wire.ts'

/**
 * Rules of message requests. Types of tools end with the date of their version. A tool without a type
 * is the caller's own. Tools that run another model or a container are charged in ways that no meter
 * shows, so they are not listed here and are refused.
 */
export const messagesRules: TextWireRules = {
  name: 'messages',
  output: { bounds: ['max_tokens'], logprobs: [] },
  charges: [
    ...free('custom', 'bash_*', 'text_editor_*', 'computer_*', 'browser_*', 'memory_*'),
    ...free('tool_search_*', 'web_fetch_*', 'mcp_toolset'),
    ['web_search_*', 'web-search'],
  ],
  tierMembers: ['speed'],
  billsServedTier: true,
  // Editing of the context is not charged, and a summary that it makes is in the usage.
  reports: ['context_management'],
  isFree: ({ type }) => type === undefined || type === null,
  callersTools: ['', 'bash_*', 'text_editor_*', 'computer_*', 'memory_*'],
  runsFurtherTools: ({ mcp_servers: servers }) => Array.isArray(servers) && servers.length > 0,
  usesBound: 'max_uses',
}
