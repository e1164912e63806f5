import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { parsePixels } from '../../../domain/catalog/image-rules.ts'

/** The `artB-*` models: one row per external name. */

export interface ArtBModel {
  readonly name: string
  /** The versioned name, which is accepted as well. */
  readonly version: string
  /** Names of sizes; sizes in pixels are accepted as well. */
  readonly tiers: readonly string[]
  readonly fewestPixels: number
  readonly mostPixels: number
  /** The most input pictures of a request. */
  readonly maxReferences: number
  /**
   * Whether the model has groups of pictures, streams and web search: it has all of them or none.
   */
  readonly makesGroups: boolean
  /**
   * The most layers into which the model separates an input picture, itself included; 1: it does
   * not separate.
   */
  readonly mostLayers: number
}

/** The most pictures of a group, including input pictures. */
export const MAX_GROUP = 15

/** 2560x1440 to 4096x4096. */
const FINE = { fewestPixels: 3_686_400, mostPixels: 16_777_216 }
/** From 1280x720 to a tenth more than 2048x2048, because other 2K shapes have more pixels. */
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

/** Models by external name or by version. */
export function artBModel(name: string): ArtBModel | undefined {
  return byName.get(name)
}

const LONGEST_RATIO = 16

/** A tier or pixels of the model, in upstream's form. @throws RequestError */
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
