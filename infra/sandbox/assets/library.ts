import type { FamilyKit } from '../family.ts'
import { type Faults, wordOf } from '../faults/vocabulary.ts'
import { Refusal } from '../http/wire.ts'
import { taskPlan } from '../tasks/plan.ts'
import type { TaskPlan, TaskState } from '../tasks/record.ts'
import { type Ask, freshId, openingOf } from './ask.ts'
import { type Listed, pageOf, parseListing } from './list.ts'
import { invalid, neededText, neededWord, objectOf, projectOf, textOf, wordIn } from './members.ts'
import {
  ASSET_TYPES,
  type AssetRecord,
  assetState,
  GROUP_TYPES,
  groupExists,
  type GroupRecord,
  type GroupType,
  statusOf,
} from './record.ts'
import { assetShape, groupShape } from './shape.ts'

const MAX_ID_LENGTH = 200
const MAX_NAME_LENGTH = 64
const MAX_DESCRIPTION_LENGTH = 300
const MAX_URL_LENGTH = 8_192
/** How far lists reach: page number times page size. */
const MAX_LISTED_ASSETS = 20_000
const MAX_LISTED_GROUPS = 10_000
/** The failure there is in a library of real persons alone. */
const FACE_MISMATCH = 'FaceMismatch'

/** The actions on assets and groups; each gives the `Result` of its answer and throws Refusal. */
export class Library {
  readonly #kit: FamilyKit

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  async createGroup(ask: Ask): Promise<object> {
    const { body } = ask
    const name = neededText(body, 'Name', MAX_NAME_LENGTH)
    const description = textOf(body, 'Description', MAX_DESCRIPTION_LENGTH) ?? ''
    const groupType = wordIn(body, 'GroupType', GROUP_TYPES) ?? 'AIGC'
    if (groupType !== 'AIGC') throw invalid('GroupType', 'only a verified person is given one')
    const opening = openingOf(this.#kit, ask, () => freshId(this.#kit, 'group'))
    const { id, acceptedAtMs: updatedAtMs } = opening
    await this.#kit.assets.add({
      ...opening,
      kind: 'group',
      groupType,
      name,
      description,
      updatedAtMs,
      deletedAtMs: null,
    })
    return { Id: id }
  }

  async createAsset(ask: Ask): Promise<object> {
    const { body, faults } = ask
    const groupId = neededText(body, 'GroupId', MAX_ID_LENGTH)
    checkUrl(neededText(body, 'URL', MAX_URL_LENGTH))
    const assetType = neededWord(body, 'AssetType', ASSET_TYPES)
    const name = textOf(body, 'Name', MAX_NAME_LENGTH) ?? ''
    const moderation = objectOf(body, 'Moderation')
    if (moderation && wordIn(moderation, 'Moderation.Strategy', ['Default', 'Skip']) === 'Skip')
      throw invalid('Moderation', 'the strategy Skip is not available')
    const { groupType } = this.#group(ask, groupId)
    const plan = this.#planOf(groupType, faults)
    const opening = openingOf(this.#kit, ask, () => freshId(this.#kit, 'asset'))
    const { id, acceptedAtMs: updatedAtMs } = opening
    const asset: AssetRecord = {
      ...opening,
      kind: 'asset',
      groupId,
      groupType,
      assetType,
      name,
      plan,
      updatedAtMs,
      deletedAtMs: null,
    }
    await this.#kit.assets.add(asset)
    // A group that was deleted while this was written took everything with it.
    const deletedAtMs = this.#kit.assets.group(groupId)?.deletedAtMs ?? null
    if (deletedAtMs !== null) await this.#kit.assets.replace([{ ...asset, deletedAtMs }])
    return { Id: id }
  }

  getAsset(ask: Ask): object {
    return assetShape(...this.#asked(ask), this.#kit)
  }

  getGroup(ask: Ask): object {
    return groupShape(this.#askedGroup(ask))
  }

  listAssets(ask: Ask): object {
    const listing = parseListing(ask.body, MAX_LISTED_ASSETS)
    const { groupType, groupIds, statuses, name } = listing
    const nowMs = this.#kit.clock.nowMs()
    const found = this.#kit.assets.assets().flatMap((asset): readonly Listed[] => {
      const state = assetState(asset, nowMs)
      const wanted =
        state.visible &&
        isOf(asset, ask) &&
        asset.groupType === groupType &&
        (groupIds === null || groupIds.includes(asset.groupId)) &&
        (statuses === null || statuses.includes(statusOf(state))) &&
        (name === null || name === asset.name)
      if (!wanted) return []
      return [
        {
          seq: asset.seq,
          createdAtMs: asset.acceptedAtMs,
          updatedAtMs: Math.max(asset.updatedAtMs, state.atMs),
          groupId: asset.groupId,
          shape: () => assetShape(asset, state, this.#kit),
        },
      ]
    })
    return pageOf(found, listing, ask.faults)
  }

  listGroups(ask: Ask): object {
    const listing = parseListing(ask.body, MAX_LISTED_GROUPS)
    const { groupType, groupIds, name } = listing
    const nowMs = this.#kit.clock.nowMs()
    const found = this.#kit.assets
      .groups()
      .filter(
        (group) =>
          groupExists(group, nowMs) &&
          isOf(group, ask) &&
          group.groupType === groupType &&
          (groupIds === null || groupIds.includes(group.id)) &&
          (name === null || name === group.name),
      )
      .map((group) => ({
        seq: group.seq,
        createdAtMs: group.acceptedAtMs,
        updatedAtMs: group.updatedAtMs,
        groupId: group.id,
        shape: () => groupShape(group),
      }))
    return pageOf(found, listing, ask.faults)
  }

  async updateAsset(ask: Ask): Promise<object> {
    const [asset] = this.#asked(ask)
    checkChangeable(asset)
    const name = neededText(ask.body, 'Name', MAX_NAME_LENGTH)
    const updatedAtMs = this.#kit.clock.nowMs()
    await this.#kit.assets.replace([{ ...asset, name, updatedAtMs }])
    return { Id: asset.id }
  }

  async updateGroup(ask: Ask): Promise<object> {
    const group = this.#askedGroup(ask)
    checkChangeable(group)
    const name = textOf(ask.body, 'Name', MAX_NAME_LENGTH) ?? group.name
    const description = textOf(ask.body, 'Description', MAX_DESCRIPTION_LENGTH) ?? group.description
    const updatedAtMs = this.#kit.clock.nowMs()
    await this.#kit.assets.replace([{ ...group, name, description, updatedAtMs }])
    return { Id: group.id }
  }

  async deleteAsset(ask: Ask): Promise<object> {
    const [asset] = this.#asked(ask)
    checkChangeable(asset)
    await this.#kit.assets.replace([{ ...asset, deletedAtMs: this.#kit.clock.nowMs() }])
    return {}
  }

  /** With every asset of it. */
  async deleteGroup(ask: Ask): Promise<object> {
    const group = this.#askedGroup(ask)
    checkChangeable(group)
    const deletedAtMs = this.#kit.clock.nowMs()
    const assets = this.#kit.assets
      .assets()
      .filter((asset) => asset.groupId === group.id && asset.deletedAtMs === null)
    await this.#kit.assets.replace([group, ...assets].map((one) => ({ ...one, deletedAtMs })))
    return {}
  }

  #asked(ask: Ask): readonly [AssetRecord, TaskState] {
    const asset = this.#kit.assets.asset(neededText(ask.body, 'Id', MAX_ID_LENGTH))
    const state = asset && assetState(asset, this.#kit.clock.nowMs())
    if (asset === null || !state?.visible || !isOf(asset, ask))
      throw new Refusal('ResourceNotFound.Asset', 'The specified asset does not exist.')
    return [asset, state]
  }

  #askedGroup(ask: Ask): GroupRecord {
    return this.#group(ask, neededText(ask.body, 'Id', MAX_ID_LENGTH))
  }

  #group(ask: Ask, id: string): GroupRecord {
    const group = this.#kit.assets.group(id)
    if (group === null || !groupExists(group, this.#kit.clock.nowMs()) || !isOf(group, ask))
      throw new Refusal('ResourceNotFound.AssetGroup', 'The specified asset group does not exist.')
    return group
  }

  /** There is no queue: an asset is worked on from the start. */
  #planOf(groupType: GroupType, faults: Faults): TaskPlan {
    if (wordOf(faults, 'fail') === FACE_MISMATCH && groupType !== 'LivenessFace')
      throw new Refusal(
        'InvalidParameter.SandboxMarker',
        `${FACE_MISMATCH} is of the groups of real persons alone.`,
      )
    return taskPlan(faults, this.#kit.options, { queueFactor: 0 })
  }
}

/** Libraries know nothing of each other, and neither do projects. */
function isOf(record: AssetRecord | GroupRecord, ask: Ask): boolean {
  return record.region === ask.region && record.projectName === projectOf(ask.body)
}

/** Fetched by upstream, which this one does not play: no address is ever asked. */
function checkUrl(url: string): void {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalid('URL', 'it must be a public web address')
}

/** The general library keeps what it has. */
function checkChangeable({ groupType }: AssetRecord | GroupRecord): void {
  if (groupType === 'AIGC')
    throw new Refusal('InvalidAction', 'The action is not enabled for this asset library.')
}
