/** What `/provA` video is measured in; tools by their own names, `tool.web_search`. */
export const COMPLETION_TOKENS = 'completion_tokens'
export const TOTAL_TOKENS = 'total_tokens'
const TOOL = 'tool.'

/** The unit of the uses of a tool. */
export function toolUnit(tool: string): string {
  return `${TOOL}${tool}`
}

/** The tool a unit counts; undefined where it counts something else. */
export function toolOf(unit: string): string | undefined {
  return unit.startsWith(TOOL) ? unit.slice(TOOL.length) : undefined
}

/** The one tool that is priced. */
export const WEB_SEARCH = 'web_search'
