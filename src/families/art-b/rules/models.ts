import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { parsePixels } from '../../../domain/catalog/image-rules.ts'

/** The `artB-*` models: one row per external name. */

export interface ArtBModel {
  readonly name: string
  /** The version it stands for, taken as its name as well. */
  readonly version: string
  /** Sizes by a word; pixels are taken beside them. */
  readonly tiers: readonly string[]
  readonly fewestPixels: number
  readonly mostPixels: number
  /** Pictures that can be sent along. */
  readonly maxReferences: number
  /** Several pictures of one request, streams and web search: all or none of them. */
  readonly makesGroups: boolean
  /** What a picture sent along can be taken apart into, itself included; 1: it is not. */
  readonly mostLayers: number
}

/** Pictures of a group, those sent along included. */
export const MAX_GROUP = 15

/** 2560x1440 to 4096x4096. */
const FINE = { fewestPixels: 3_686_400, mostPixels: 16_777_216 }
/** 1280x720 to a tenth more than 2048x2048, which other shapes of 2K come to. */
const PLAIN = { fewestPixels: 921_600, mostPixels: 4_624_220 }

const grouping = (name: string, version: string): ArtBModel => ({
  name,
  version,
  tiers: ['2K', '3K', '4K'],
  ...FINE,
  maxReferences: 14,
  makesGroups: true,
  mostLayers: 1,
})

export const artBModels: readonly ArtBModel[] = [
  grouping('artB-5.0', 'artB-5-0-260128'),
  grouping('artB-5.0-lite', 'artB-5-0-lite-260128'),
  {
    name: 'artB-5.0-pro',
    version: 'artB-5-0-pro-260628',
    tiers: ['1K', '1.5K', '2K'],
    ...PLAIN,
    maxReferences: 10,
    makesGroups: false,
    mostLayers: 17,
  },
]

const byName = new Map(
  artBModels.flatMap((model) => [[model.name, model] as const, [model.version, model] as const]),
)

/** By external name or by version. */
export function artBModel(name: string): ArtBModel | undefined {
  return byName.get(name)
}

const LONGEST_RATIO = 16

/** A tier of the model or pixels it makes, as upstream takes them. @throws RequestError */
export function acceptSize(size: string, model: ArtBModel): string {
  if (model.tiers.includes(size)) return size
  const sides = parsePixels(size)
  if (sides === undefined)
    return refuse('size', `\`size\` must be <width>x<height> or one of ${model.tiers.join(', ')}`)
  const { width, height } = sides
  const pixels = width * height
  const { fewestPixels, mostPixels } = model
  if (Math.max(width, height) > LONGEST_RATIO * Math.min(width, height))
    return refuse('size', `\`size\` must not be longer than ${LONGEST_RATIO}:1`)
  if (pixels < fewestPixels || pixels > mostPixels)
    return refuse(
      'size',
      `\`size\` must have from ${fewestPixels} to ${mostPixels} pixels with ${model.name}, not ${pixels}`,
    )
  return size
}
