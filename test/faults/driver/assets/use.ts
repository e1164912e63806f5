import type { Dice } from '../random.ts'
import type { Draft } from '../tasks/family.ts'
import type { SeenAsset } from './witness.ts'

/** Creations of `/provA` that use what the library keeps. */

/** Of those that could. */
const SHARE = 0.4

/** How a reference of each kind stands in `content`; sound alone makes no video. */
const kinds = { Image: 'image', Video: 'video', Audio: undefined } as const

/** A draft with an asset of its model's region among what it refers to, or as it was. */
export function withAsset(
  dice: Dice,
  draft: Draft,
  assets: readonly SeenAsset[],
): Draft & { readonly asset?: SeenAsset } {
  const { priced, body } = draft
  const fitting = assets.filter(
    ({ group, assetType }) =>
      priced.model.startsWith(group.region) && kinds[assetType] !== undefined,
  )
  if (fitting.length === 0 || !dice.chance(SHARE)) return draft
  const asset = dice.pick(fitting)
  const kind = kinds[asset.assetType] ?? 'image'
  const reference = {
    type: `${kind}_url`,
    role: `reference_${kind}`,
    [`${kind}_url`]: { url: `asset://${asset.id}` },
  }
  const content = body['content'] as readonly unknown[]
  return {
    ...draft,
    asset,
    priced: { ...priced, hasVideo: priced.hasVideo || kind === 'video' },
    body: { ...body, content: [...content, reference] },
  }
}
