import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { MeteredTool, TextWireRules, ToolCharge } from './wire.ts'

/**
 * Text models are configuration, not a list in code: channels name them, the price book prices them.
 */

const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/

/** Whether a name may be the external name of a text model: it becomes part of SKUs and of paths. */
export function isTextModelName(name: string): boolean {
  return MODEL_NAME.test(name)
}

/** A tool of a request: the member that names it, and what it costs. */
interface ChargedTool {
  readonly member: string
  readonly charge: ToolCharge
}

function chargeOf({ charges }: TextWireRules, name: string): ToolCharge {
  return charges.find(([pattern]) => fits(pattern, name))?.[1] ?? 'unmetered'
}

function fits(pattern: string, name: string): boolean {
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1))
  if (!pattern.endsWith('*')) return name === pattern
  return name.toLowerCase().startsWith(pattern.slice(0, -1))
}

/** The tools a wire takes, as its requests name them. */
export function offeredToolNames({ charges, furtherTools = [] }: TextWireRules): readonly string[] {
  const named = charges.flatMap(([name, charge]) => (charge === 'unmetered' ? [] : [name]))
  return [...named, ...furtherTools]
}

/** What one entry of `tools` costs; on some wires it may name several tools. */
export function toolCharges(wire: TextWireRules, tool: JsonObject): readonly ChargedTool[] {
  if (wire.namesToolsByMember === true)
    return Object.entries(tool)
      .filter(([, settings]) => settings !== null)
      .map(([member]) => ({ member, charge: chargeOf(wire, member) }))
  const type = typeof tool['type'] === 'string' ? tool['type'] : ''
  const charge = wire.isFree?.(tool) === true ? 'tokens' : chargeOf(wire, type)
  return [{ member: 'type', charge }]
}

/** The metered tools a request offers: what its settlement may have to price. */
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
