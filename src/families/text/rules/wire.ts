import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { LARGEST_TOOL_CALLS } from './measure.ts'

/** Tools that a provider runs itself and charges by count. */
export const meteredTools = ['web-search', 'code-interpreter', 'file-search'] as const
export type MeteredTool = (typeof meteredTools)[number]

/** Cost of a tool in addition to tokens: none, a metered count, or an amount without a meter. */
type ToolCharge = MeteredTool | 'tokens' | 'unmetered'

/**
 * Tool names with their costs. An asterisk matches any beginning or end. The first match counts; if
 * none matches, the tool is `unmetered`.
 */
type Charges = readonly (readonly [name: string, charge: ToolCharge])[]

/** Tools that cost tokens only. */
export function free(...names: readonly string[]): Charges {
  return names.map((name) => [name, 'tokens'])
}

/** The members of a body that concern the output. */
interface OutputMembers {
  /** The members lie in this object of the body; absent: in the body itself. */
  readonly holder?: string
  /** Each bounds one answer; the first is the one to name where none is given. */
  readonly bounds: readonly [string, ...string[]]
  /** The member with the number of alternatives; absent: one. */
  readonly answers?: string
  /** Each asks for probabilities of tokens, some of them by how many. */
  readonly logprobs: readonly string[]
}

/** Rules of a wire's requests; everything else is the same for every text wire. */
export interface TextWireRules {
  /** Name of the family; `text/<name>/…` are the rules of its settlements. */
  readonly name: string
  readonly output: OutputMembers
  /** Tools by their names. */
  readonly charges: Charges
  /** Further tools that it takes, in words. */
  readonly furtherTools?: readonly string[]
  /** Members of an entry of `tools` that name its tools; absent: the entry's `type` names it. */
  readonly namesToolsByMember?: true
  /** Whether an entry of `tools` costs tokens only, whatever its name. */
  readonly isFree?: (tool: JsonObject) => boolean
  /** Tools that callers run themselves, in addition to those of every wire; `''` has no type. */
  readonly callersTools?: readonly string[]
  /** Whether a body has further tools run by upstream. */
  readonly runsFurtherTools?: (body: JsonObject) => boolean
  /** The member of an entry of `tools` that bounds its uses in one call. */
  readonly usesBound?: string
  /** Whether a body asks for a search otherwise than by a tool. */
  readonly asksForSearch?: (body: JsonObject) => boolean
  /**
   * Whether its models may search without a request for it: if a search has a price, it is billed.
   */
  readonly searchesUnasked?: true
  /**
   * Members that change the price of a call, in the spelling of `price-members.ts`, and whose whole
   * cost is in the usage of its answers: they are passed on and billed by it.
   */
  readonly reports?: readonly string[]
  /** Members that ask for a tier of service, too, in the same spelling: one is usual on every wire. */
  readonly tierMembers?: readonly string[]
  /** Whether a call is billed at the usual prices where its answer says that the usual tier served it. */
  readonly billsServedTier?: true
  /** Whether its answers may have inline media. */
  readonly answersMedia?: true
  /** Whether upstream keeps its answers, so that requests refer to them by ids. */
  readonly keepsAnswers?: true
}

/**
 * Text models are configuration, not a list in code: channels name them, the price book prices them.
 */

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether a name may be the external name of a text model: it becomes part of SKUs and of paths. */
export function isTextModelName(name: string): boolean {
  return MODEL_NAME.test(name)
}

/** A tool of a request: the member that names it, and its cost. */
interface ChargedTool {
  readonly member: string
  readonly charge: ToolCharge
}

function chargeOf({ charges }: TextWireRules, name: string): ToolCharge {
  const lower = name.toLowerCase()
  return charges.find(([pattern]) => fits(pattern, name, lower))?.[1] ?? 'unmetered'
}

function fits(pattern: string, name: string, lower = name.toLowerCase()): boolean {
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1))
  if (!pattern.endsWith('*')) return name === pattern
  return lower.startsWith(pattern.slice(0, -1))
}

/** The tools a wire takes, as its requests name them. */
export function offeredToolNames({ charges, furtherTools = [] }: TextWireRules): readonly string[] {
  const named = charges.flatMap(([name, charge]) => (charge === 'unmetered' ? [] : [name]))
  return [...named, ...furtherTools]
}

/** Every tool that a call of the wire may be charged for by count. */
export function toolsChargedBy({ charges, ...wire }: TextWireRules): readonly MeteredTool[] {
  const searches = wire.asksForSearch !== undefined || wire.searchesUnasked === true
  return meteredTools.filter(
    (tool) => (searches && tool === 'web-search') || charges.some(([, charge]) => charge === tool),
  )
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' ? type : ''
}

/** Costs of one entry of `tools`; on some wires it may name several tools. */
export function toolCharges(wire: TextWireRules, tool: JsonObject): readonly ChargedTool[] {
  if (wire.namesToolsByMember === true)
    return Object.entries(tool)
      .filter(([, settings]) => settings !== null)
      .map(([member]) => ({ member, charge: chargeOf(wire, member) }))
  const charge = wire.isFree?.(tool) === true ? 'tokens' : chargeOf(wire, typeOf(tool))
  return [{ member: 'type', charge }]
}

/** The metered tools that a request offers, which its settlement may have to price. */
export function offeredTools(wire: TextWireRules, body: JsonObject): readonly MeteredTool[] {
  const offered = new Set<MeteredTool>()
  if (wire.asksForSearch?.(body) === true) offered.add('web-search')
  const { tools } = body
  if (!Array.isArray(tools)) return [...offered]
  for (const tool of (tools as readonly unknown[]).filter(isJsonObject))
    for (const { charge } of toolCharges(wire, tool))
      if (charge !== 'tokens' && charge !== 'unmetered') offered.add(charge)
  return [...offered]
}

/** Uses of a tool that names no bound of them, where it could. */
const UNBOUNDED_USES = 10

/** The uses of metered tools that a hold reserves for, where the tools of a wire bound them. */
export type HeldUses = Readonly<Partial<Record<MeteredTool, number>>>

/** Entries that offer the same tool add up, as far as uses can be billed. */
export function heldUses(wire: TextWireRules, body: JsonObject): HeldUses {
  const { usesBound } = wire
  const { tools } = body
  if (usesBound === undefined || !Array.isArray(tools)) return {}
  const held: Partial<Record<MeteredTool, number>> = {}
  for (const tool of (tools as readonly unknown[]).filter(isJsonObject))
    for (const { charge } of toolCharges(wire, tool)) {
      if (charge === 'tokens' || charge === 'unmetered') continue
      const most = countOf(tool[usesBound]) ?? 0
      const uses = (held[charge] ?? 0) + (most === 0 ? UNBOUNDED_USES : most)
      held[charge] = Math.min(uses, LARGEST_TOOL_CALLS)
    }
  return held
}

/** Names of tools that callers run themselves: upstream only names them in its answer. */
const CALLERS_TOOLS = /^(?:function|custom|functionDeclarations|local_shell|apply_patch|namespace)$/

/** Whether upstream may run tools of the request by itself, so that their results become input. */
export function runsTools(wire: TextWireRules, body: JsonObject): boolean {
  if (wire.asksForSearch?.(body) === true || wire.runsFurtherTools?.(body) === true) return true
  const { tools } = body
  if (!Array.isArray(tools)) return false
  const { callersTools = [] } = wire
  return (tools as readonly unknown[])
    .filter(isJsonObject)
    .flatMap((tool) => (wire.namesToolsByMember === true ? Object.keys(tool) : [typeOf(tool)]))
    .some((name) => !CALLERS_TOOLS.test(name) && !callersTools.some((one) => fits(one, name)))
}

/** The stores of an account a responses request searches, and where the first are named. */
export function vectorStoresOf(
  body: JsonObject,
): { readonly ids: readonly string[]; readonly path: string } | undefined {
  const { tools } = body
  if (!Array.isArray(tools)) return undefined
  const ids: string[] = []
  let path: string | undefined
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    const named = isJsonObject(tool) ? tool['vector_store_ids'] : undefined
    if (!Array.isArray(named) || named.length === 0) continue
    path ??= `tools[${index}].vector_store_ids`
    ids.push(...named.map(String))
  }
  return path === undefined ? undefined : { ids, path }
}
