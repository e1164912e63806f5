import { invariant } from '../../kernel/assert.ts'
import { imageTaskRules } from './image-task-rules.ts'
import { imageFamilies } from './images.ts'
import { createTaskDecider } from '../task/decider.ts'
import { speechTaskRules } from './speech/rules.ts'
import type { TaskFamilyRules, TaskModel } from './task-rules.ts'
import { videoARules } from './video-a/rules.ts'
import { videoBRules } from './video-b/rules.ts'
import { videoCRules } from './video-c/rules.ts'

/** Every family of asynchronous tasks: a further one is a folder and a line here. */
const all: readonly TaskFamilyRules[] = [
  videoARules,
  videoBRules,
  videoCRules,
  speechTaskRules,
  ...imageFamilies.map(imageTaskRules),
]

/** The rules of each family, by its name. */
export const taskFamilies: ReadonlyMap<string, TaskFamilyRules> = new Map(
  all.map((rules) => [rules.family, rules]),
)

/** The rules of the family an event or a row names: those once written are kept for ever. */
export function taskFamily(name: string): TaskFamilyRules {
  const rules = taskFamilies.get(name)
  invariant(rules, `no family of tasks was ever dropped: ${name}`)
  return rules
}

/** The life of a task of any of them. */
export const taskDecider = createTaskDecider(taskFamily)

/** The model of any family that has this external name or alias. */
export function findTaskModel(name: string): TaskModel | undefined {
  for (const rules of taskFamilies.values()) {
    const model = rules.resolve(name)
    if (model !== undefined) return model
  }
  return undefined
}

/** A model whose tasks may use assets, and its family; undefined for any other name. */
export function findAssetModel(
  name: string,
): { readonly family: string; readonly model: TaskModel } | undefined {
  for (const { family, takesAssets, resolve } of taskFamilies.values()) {
    const model = takesAssets ? resolve(name) : undefined
    if (model !== undefined) return { family, model }
  }
  return undefined
}
