import { textRules } from './text/rules.ts'
import type { CallFamilyRules } from './call-rules.ts'

/** A record whose requests and answers only its own family can make. */
export type AnyCallFamily = CallFamilyRules<never, never>

/** Every family of synchronous calls: a further one is a folder and a line here. */
export const callFamilies: readonly AnyCallFamily[] = [textRules]

const byWire: ReadonlyMap<string, AnyCallFamily> = new Map(
  callFamilies.flatMap((rules) => rules.wires.map((wire) => [wire, rules] as const)),
)

/** The synchronous family a channel of this wire serves; undefined where it serves tasks. */
export function callFamilyOf(wire: string): AnyCallFamily | undefined {
  return byWire.get(wire)
}
