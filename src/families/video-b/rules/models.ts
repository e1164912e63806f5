import type { TaskModel } from '../../../domain/catalog/task-rules.ts'

/** The `/provB` video models: one row per external name. */

export const videoBResolutions = ['480P', '768P', '2K'] as const

type VideoBResolution = (typeof videoBResolutions)[number]

export interface VideoBModel extends TaskModel {
  readonly resolutions: readonly VideoBResolution[]
  /** Seconds, inclusive. */
  readonly durationS: { readonly min: number; readonly max: number }
  readonly takesReferences: boolean
  /** The prefix of its SKUs, which is no model name. */
  readonly skuBase: string
}

/** The resolution of a request that names none; every model has it. */
export const defaultVideoBResolution: VideoBResolution = '768P'

/** Rows stay for ever: settling an old task needs its row. */
export const videoBModels: readonly VideoBModel[] = [
  {
    name: 'h3-video',
    aliases: [],
    resolutions: ['768P', '2K'],
    durationS: { min: 4, max: 15 },
    takesReferences: true,
    skuBase: 'h3',
  },
  {
    name: 'h3-video-max',
    aliases: [],
    resolutions: ['480P', '768P'],
    durationS: { min: 5, max: 15 },
    takesReferences: false,
    skuBase: 'h3-max',
  },
]

/** The model of an external name; SKU prefixes are no external names. */
export function resolveVideoBModel(name: string): VideoBModel | undefined {
  return videoBModels.find((model) => model.name === name)
}
