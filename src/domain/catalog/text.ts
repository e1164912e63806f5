/**
 * Text models are configuration, not a list in code: channels name them, the price book prices them
 * (spec §2.1–2.3, design §6).
 */

/** The three upstream wires of text (spec §2.1–2.3). */
export type TextFamily = 'chat' | 'responses' | 'native'
export const textFamilies: readonly TextFamily[] = ['chat', 'responses', 'native']

/** Whether a channel family is one of text. */
export function isTextFamily(family: string): family is TextFamily {
  return (textFamilies as readonly string[]).includes(family)
}

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether a name may be the external name of a text model: it becomes part of SKUs and of paths. */
export function isTextModelName(name: string): boolean {
  return MODEL_NAME.test(name)
}

/** Tools a provider runs itself and charges by count (design §6). */
export type MeteredTool = 'web-search' | 'code-interpreter' | 'file-search'

/** Wire types of metered tools by how they begin: versions follow, as in `web_search_preview_…`. */
const METERED: readonly (readonly [string, MeteredTool])[] = [
  ['web_search', 'web-search'],
  ['code_interpreter', 'code-interpreter'],
  ['file_search', 'file-search'],
]

/** On the native wire a tool is named by its member: `…Search` with nothing but settings in it. */
const NAMED_BY_MEMBER: readonly (readonly [RegExp, MeteredTool])[] = [
  [/file_?search/i, 'file-search'],
  [/search/i, 'web-search'],
]

/** The metered tools a request offers: what its settlement may have to price. */
export function offeredTools(body: Readonly<Record<string, unknown>>): readonly MeteredTool[] {
  const { tools } = body
  if (!Array.isArray(tools)) return []
  const offered = new Set<MeteredTool>()
  for (const tool of tools as readonly unknown[]) {
    if (typeof tool !== 'object' || tool === null) continue
    const names = 'type' in tool ? [] : Object.keys(tool)
    for (const name of names) {
      const metered = NAMED_BY_MEMBER.find(([pattern]) => pattern.test(name))
      if (metered !== undefined) offered.add(metered[1])
    }
    const type = 'type' in tool && typeof tool.type === 'string' ? tool.type : ''
    for (const [prefix, metered] of METERED) if (type.startsWith(prefix)) offered.add(metered)
  }
  return [...offered]
}
