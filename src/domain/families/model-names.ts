import { callFamilies } from './calls.ts'
import { taskFamilies } from './tasks.ts'

/** External names by every version alias that a family takes. */
const byAlias: ReadonlyMap<string, string> = new Map([
  ...[...taskFamilies.values()].flatMap(({ models }) =>
    models.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name] as const)),
  ),
  ...callFamilies.flatMap(({ aliases }) => [...(aliases ?? [])]),
])

/** The external name that a version alias of any family stands for; every other name as it is. */
export function externalModelName(name: string): string {
  return byAlias.get(name) ?? name
}

/** Every name that a family takes, aliases too; the names of text models are the channels' own. */
export const catalogModelNames: ReadonlySet<string> = new Set([
  ...[...taskFamilies.values()].flatMap(({ models }) => models.map(({ name }) => name)),
  ...callFamilies.flatMap(({ models }) => models ?? []),
  ...byAlias.keys(),
])
