import type { CallFamilyRules } from './call-rules.ts'
import { imageCallRules } from './image-rules.ts'
import { imageFamilies } from './images.ts'
import { speechCallRules } from './speech/rules.ts'
import { textFamilies } from './text/models.ts'
import { textRules } from './text/rules.ts'

/** A record whose requests and answers only its own family can make. */
export type AnyCallFamily = CallFamilyRules<never, never>

/** Every family of synchronous calls: a further one is a folder and a line here. */
export const callFamilies: readonly AnyCallFamily[] = [
  textRules,
  speechCallRules,
  ...imageFamilies.map(imageCallRules),
]

const byWire: ReadonlyMap<string, AnyCallFamily> = new Map(
  callFamilies.flatMap((rules) =>
    (rules === textRules ? textFamilies : [rules.name]).map((wire) => [wire, rules] as const),
  ),
)

/** The synchronous family a channel of this wire serves; undefined where it serves tasks. */
export function callFamilyOf(wire: string): AnyCallFamily | undefined {
  return byWire.get(wire)
}

/** The family whose catalog has this name; undefined where a channel may choose it freely. */
export function callFamilyOfModel(name: string): AnyCallFamily | undefined {
  return callFamilies.find(
    ({ models, aliases }) => models?.includes(name) === true || aliases?.has(name) === true,
  )
}
