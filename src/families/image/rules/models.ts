/** The `image-*` models: one row per external name. */

export type ImageQuality = 'low' | 'medium' | 'high' | 'xhigh' | 'max' | 'auto'

export interface ImageModel {
  readonly name: string
  /** `image-2` is billed by the picture, the 2.5 models by tokens. */
  readonly billedBy: 'picture' | 'token'
  readonly qualities: readonly ImageQuality[]
  /** What a request that names none asks for; upstream would choose by itself. */
  readonly defaultQuality: ImageQuality
  /** Tiers and aspect ratios beside exact pixels. */
  readonly hasTiers: boolean
  /** Most pictures of one request, unless a channel says otherwise. */
  readonly usualCount: number
}

const BASIC: readonly ImageQuality[] = ['low', 'medium', 'high', 'auto']

const second = (name: string, qualities: readonly ImageQuality[], quality: ImageQuality) =>
  ({
    name,
    billedBy: 'picture',
    qualities,
    defaultQuality: quality,
    hasTiers: false,
    usualCount: 10,
  }) as const satisfies ImageModel

const half = (name: string) =>
  ({
    name,
    billedBy: 'token',
    qualities: ['low', 'medium', 'high', 'xhigh', 'max', 'auto'],
    defaultQuality: 'low',
    hasTiers: true,
    usualCount: 1,
  }) as const satisfies ImageModel

/** A per-picture channel is `image-2` at one quality and at that quality's price. */
export const imageModels: readonly ImageModel[] = [
  second('image-2', BASIC, 'low'),
  second('image-2-low', ['low'], 'low'),
  second('image-2-medium', ['medium'], 'medium'),
  second('image-2-high', ['high'], 'high'),
  half('image-2.5-sunburst'),
  half('image-2.5-flare'),
]

const byName = new Map(imageModels.map((model) => [model.name, model]))

/** By external name. */
export function imageModel(name: string): ImageModel | undefined {
  return byName.get(name)
}
