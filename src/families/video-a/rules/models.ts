/** The `/provA` video models: one row per external name. */

export type VideoAResolution = '480p' | '720p' | '1080p' | '4k'
type VideoATier = 'standard' | 'fast' | 'mini'

export interface VideoAModel {
  /** The external name: callers send it, and every echo and every ledger line shows it. */
  readonly name: string
  /** Date-suffixed names that are accepted and normalised to `name`. */
  readonly aliases: readonly string[]
  readonly region: 'domestic' | 'overseas'
  readonly generation: '2.0' | '2.5'
  readonly tier: VideoATier
  readonly resolutions: readonly VideoAResolution[]
  /** Seconds, inclusive; -1 lets the model choose and is always allowed. */
  readonly durationS: { readonly min: number; readonly max: number }
  /** A filter-off model rates with its base model's SKUs and keeps its own name elsewhere. */
  readonly filterOff: boolean
  /** The prefix of its SKUs: region, `video` and generation. */
  readonly skuBase: string
}

const STANDARD: readonly VideoAResolution[] = ['480p', '720p', '1080p', '4k']
const SMALL: readonly VideoAResolution[] = ['480p', '720p']

/** The resolution that upstream renders if a request names none. */
export const defaultVideoAResolution: VideoAResolution = '720p'

/** The provider documents no domestic range, so the overseas range applies. */
const DURATION_2_0 = { min: 4, max: 15 } as const
const DURATION_2_5 = { min: 4, max: 30 } as const

function generation20(
  region: 'domestic' | 'overseas',
  tier: VideoATier,
  versionDate: string | undefined,
): VideoAModel {
  const skuBase = `${region}-video-2-0`
  const base = tier === 'standard' ? skuBase : `${skuBase}-${tier}`
  return {
    name: versionDate === undefined ? `${base}-filter-off` : base,
    aliases: versionDate === undefined ? [] : [`${base}-${versionDate}`],
    region,
    generation: '2.0',
    tier,
    resolutions: tier === 'standard' ? STANDARD : SMALL,
    durationS: DURATION_2_0,
    filterOff: versionDate === undefined,
    skuBase,
  }
}

function generation25(region: 'domestic' | 'overseas'): VideoAModel {
  const name = `${region}-video-2-5`
  return {
    name,
    aliases: [`${name}-260628`],
    region,
    generation: '2.5',
    tier: 'standard',
    resolutions: SMALL,
    durationS: DURATION_2_5,
    filterOff: false,
    skuBase: name,
  }
}

/** All ten. Rows stay for ever: settling an old task needs its row. */
export const videoAModels: readonly VideoAModel[] = [
  generation20('domestic', 'standard', '260128'),
  generation20('domestic', 'fast', '260128'),
  generation20('domestic', 'mini', '260615'),
  generation20('overseas', 'standard', '260128'),
  generation20('overseas', 'fast', '260128'),
  generation20('overseas', 'mini', '260615'),
  generation20('overseas', 'standard', undefined),
  generation20('overseas', 'fast', undefined),
  generation25('domestic'),
  generation25('overseas'),
]

const byName: ReadonlyMap<string, VideoAModel> = new Map(
  videoAModels.flatMap((model) => [model.name, ...model.aliases].map((name) => [name, model])),
)

/**
 * The model of an external name or of its version alias only: console short ids, dotted forms and
 * made-up filter-off names with a version are unknown.
 */
export function resolveVideoAModel(name: string): VideoAModel | undefined {
  return byName.get(name)
}
