import type { JsonObject } from '../../../kernel/json.ts'

/** Tools a provider runs itself and charges by count. */
export const meteredTools = ['web-search', 'code-interpreter', 'file-search'] as const
export type MeteredTool = (typeof meteredTools)[number]

/** What a tool costs beside tokens: nothing, a count that is metered, or something that is not. */
export type ToolCharge = MeteredTool | 'tokens' | 'unmetered'

/**
 * Tool names with what they cost, an asterisk standing for any beginning or end; the first that fits
 * counts, `unmetered` if none does.
 */
export type Charges = readonly (readonly [name: string, charge: ToolCharge])[]

/** Tools that cost nothing beside tokens. */
export function free(...names: readonly string[]): Charges {
  return names.map((name) => [name, 'tokens'])
}

/** What a wire reads of a body where the output is concerned. */
export interface OutputMembers {
  /** The members lie in this object of the body; absent: in the body itself. */
  readonly holder?: string
  /** Each bounds one answer; the first is the one to name where none is given. */
  readonly bounds: readonly [string, ...string[]]
  /** How many answers are made; absent: one. */
  readonly answers?: string
}

/** What a wire of text says of its requests; all else is the same for every wire. */
export interface TextWireRules {
  /** Its family; `text/<name>/…` are the rules of its settlements. */
  readonly name: string
  readonly output: OutputMembers
  /** Tools by their names. */
  readonly charges: Charges
  /** Tools it takes beside those, in words. */
  readonly furtherTools?: readonly string[]
  /** Where one entry of `tools` names its tools: in members of it; absent: in its `type`. */
  readonly namesToolsByMember?: true
  /** Whether an entry of `tools` costs nothing beside tokens, whatever its name. */
  readonly isFree?: (tool: JsonObject) => boolean
  /** Whether a body asks for a search otherwise than by a tool. */
  readonly asksForSearch?: (body: JsonObject) => boolean
  /** Its models may search whether or not they are asked to: where a search has a price, it is billed. */
  readonly searchesUnasked?: true
  /** Upstream keeps what it answers, and requests refer to it by ids. */
  readonly keepsAnswers?: true
}
