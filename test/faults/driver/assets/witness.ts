/** Where things are kept; each is a library of its own. */
export const regions = ['domestic', 'overseas'] as const
export type Region = (typeof regions)[number]

/** The model that says where a thing is to be kept. */
export function modelOf(region: Region): string {
  return `${region}-video-2-0`
}

/** A group that a caller was given the id of. */
export interface SeenGroup {
  readonly id: string
  readonly tenantId: string
  readonly region: Region
  readonly isPerson: boolean
  /** It was not found: upstream never took it, or it is deleted. */
  missed: boolean
  deletionTried: boolean
  /** Its deletion was answered as done. */
  deleted: boolean
}

export const assetTypes = ['Image', 'Video', 'Audio'] as const
type AssetType = (typeof assetTypes)[number]

/** An asset that a caller was given the id of. */
export interface SeenAsset {
  readonly id: string
  readonly group: SeenGroup
  readonly assetType: AssetType
  /** The status it was shown with last. */
  shown: string | undefined
  deletionTried: boolean
  /** Its deletion was answered as done, by itself or with its group. */
  deleted: boolean
}

/** A verification that a caller asked for, by a marker of its own. */
export interface SeenSession {
  readonly marker: string
  readonly tenantId: string
  /** What the person did at the page; undefined: nothing, or nobody knows. */
  outcome: 'pass' | 'fail' | undefined
  /** Groups its result was answered with: one, or none. */
  readonly groupIds: Set<string>
}

/** Most recent assets that creations use. */
const MAX_USABLE = 30

/** Whether a deletion of it was asked for, by itself or with its group. */
export function isDeletionTried({ deletionTried, group }: SeenAsset): boolean {
  return deletionTried || group.deletionTried
}

/** Everything callers of the asset library know. */
export class AssetWitness {
  readonly groups = new Map<string, SeenGroup>()
  readonly assets = new Map<string, SeenAsset>()
  readonly sessions = new Map<string, SeenSession>()
  #usable: readonly SeenAsset[] = []

  group(seen: Pick<SeenGroup, 'id' | 'tenantId' | 'region' | 'isPerson'>): SeenGroup {
    const known = this.groups.get(seen.id)
    if (known !== undefined) return known
    const group: SeenGroup = { ...seen, missed: false, deletionTried: false, deleted: false }
    this.groups.set(seen.id, group)
    return group
  }

  asset(seen: Pick<SeenAsset, 'id' | 'group' | 'assetType'>): SeenAsset {
    const asset: SeenAsset = { ...seen, shown: undefined, deletionTried: false, deleted: false }
    this.assets.set(seen.id, asset)
    return asset
  }

  session(marker: string, tenantId: string): SeenSession {
    const session: SeenSession = { marker, tenantId, outcome: undefined, groupIds: new Set() }
    this.sessions.set(marker, session)
    return session
  }

  /** Notes that an asset was shown as active: from now on creations use it, also once it is deleted. */
  noteUsable(asset: SeenAsset): void {
    if (this.#usable.includes(asset)) return
    this.#usable = [...this.#usable, asset].slice(-MAX_USABLE)
  }

  /** Those of a group that callers saw active: they go with it. */
  activeIn(group: SeenGroup): readonly SeenAsset[] {
    return [...this.assets.values()].filter((one) => one.group === group && one.shown === 'Active')
  }

  /** What a tenant's creations may use, or may have used until it was deleted. */
  usable(tenantId: string): readonly SeenAsset[] {
    return this.#usable.filter(({ group }) => group.tenantId === tenantId)
  }
}
