import type { JsonObject } from '../../../kernel/json.ts'

/**
 * Rewrites one member of a JSON object in its text, so that everything else stays byte for byte as
 * upstream wrote it (key order, digits beyond 2⁵³) and no frame is serialised anew. Only where the
 * key stands exactly once in the text can its place be told without parsing again; elsewhere the
 * object is serialised.
 */
export type MemberRewriter = (json: string, parsed: JsonObject) => string

/** Sets a string member that is there to `value`; one that is not stays away. */
export function createMemberRewriter(name: string, value: string): MemberRewriter {
  const key = JSON.stringify(name)
  const replacement = JSON.stringify(value)
  /** The value upstream writes, and how it looks in JSON: the same from frame to frame. */
  let known = ''
  let knownJson = ''
  return (json, parsed) => {
    const current = parsed[name]
    if (typeof current !== 'string' || current === value) return json
    if (current !== known) {
      known = current
      knownJson = JSON.stringify(current)
    }
    const at = json.indexOf(key)
    if (at !== -1 && !json.includes(key, at + 1)) {
      let from = at + key.length
      while (json[from] === ' ' || json[from] === ':') from += 1
      if (json.startsWith(knownJson, from))
        return json.slice(0, from) + replacement + json.slice(from + knownJson.length)
    }
    return JSON.stringify({ ...parsed, [name]: value })
  }
}
