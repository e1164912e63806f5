import type { Region } from '../assets/key.ts'
import { type AssetRecord, assetState, type AssetType, statusOf } from '../assets/record.ts'
import type { FamilyKit } from '../family.ts'
import { type AssetReference, invalid } from './parse-content.ts'
import type { VideoRequest } from './parse.ts'

const TYPES: Readonly<Record<AssetReference['kind'], AssetType>> = {
  image_url: 'Image',
  video_url: 'Video',
  audio_url: 'Audio',
}

/** Where a model runs, as its name says; null for one whose name does not. */
function regionOf(model: string): Region | null {
  if (model.startsWith('domestic-')) return 'cn-beijing'
  return model.startsWith('overseas-') ? 'ap-southeast-1' : null
}

/** Refuses what the library of the model's region does not have, or not ready. @throws Refusal */
export function checkAssets(
  { assets, clock }: Pick<FamilyKit, 'assets' | 'clock'>,
  { model, content }: VideoRequest,
): void {
  const nowMs = clock.nowMs()
  const region = regionOf(model)
  const isUsable = (asset: AssetRecord): boolean => {
    const state = assetState(asset, nowMs)
    return (
      (region ?? asset.region) === asset.region && state.visible && statusOf(state) === 'Active'
    )
  }
  for (const { id, kind, where } of content.assets) {
    const asset = assets.asset(id)
    if (asset === null || !isUsable(asset))
      throw invalid(where, 'the asset does not exist or is not active')
    if (asset.assetType !== TYPES[kind]) throw invalid(where, `the asset is no ${TYPES[kind]}`)
  }
}
