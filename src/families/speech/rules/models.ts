import type { TaskModel } from '../../../domain/families/task-rules.ts'

/** The models that speak: one row per external name. */
export const speechModels: readonly TaskModel[] = [
  { name: 'speech-2.8-hd', aliases: [] },
  { name: 'speech-2.8-turbo', aliases: [] },
  { name: 'speech-2.6-hd', aliases: [] },
]

/** A clone of a voice, which the same accounts make and sell by the piece. */
export const VOICE_CLONE = 'voice-clone'

/** Every name a channel of the family may offer. */
export const offeredModels: readonly string[] = [
  ...speechModels.map(({ name }) => name),
  VOICE_CLONE,
]

/** By external name. */
export function speechModel(name: string): TaskModel | undefined {
  return speechModels.find((model) => model.name === name)
}
