import type { FamilyKit } from '../family.ts'
import { type Faults, wordOf } from '../faults/vocabulary.ts'
import { Refusal } from '../http/wire.ts'
import { NO_FIELDS } from '../kit/body.ts'
import { taskPlan, type TaskPlan, type TaskState } from '../tasks/record.ts'
import { assetShape, groupShape } from './body.ts'
import {
  type SignedOrder,
  freshId,
  LibraryMembers,
  type Listed,
  openingOf,
  pageOf,
  parseListing,
} from './parse.ts'
import {
  ASSET_TYPES,
  type AssetRecord,
  assetState,
  GROUP_TYPES,
  groupExists,
  type GroupRecord,
  type GroupType,
  statusOf,
} from './store.ts'

const MAX_ID_LENGTH = 200
const MAX_NAME_LENGTH = 64
const MAX_DESCRIPTION_LENGTH = 300
const MAX_URL_LENGTH = 8_192
/** How far lists reach: page number times page size. */
const MAX_LISTED_ASSETS = 20_000
const MAX_LISTED_GROUPS = 10_000
/** The failure that only libraries of real persons have. */
const FACE_MISMATCH = 'FaceMismatch'

/** The actions on assets and groups; each gives the `Result` of its answer and throws Refusal. */
export class Library {
  readonly #kit: FamilyKit

  constructor(kit: FamilyKit) {
    this.#kit = kit
  }

  async createGroup(order: SignedOrder): Promise<object> {
    const body = new LibraryMembers(order.body)
    const name = body.neededText('Name', MAX_NAME_LENGTH)
    const description = body.text('Description', MAX_DESCRIPTION_LENGTH) ?? ''
    const groupType = body.word('GroupType', GROUP_TYPES) ?? 'AIGC'
    if (groupType !== 'AIGC') throw body.invalid('GroupType', 'only a verified person is given one')
    const opening = openingOf(this.#kit, order, body.project, () => freshId(this.#kit, 'group'))
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

  async createAsset(order: SignedOrder): Promise<object> {
    const body = new LibraryMembers(order.body)
    const groupId = body.neededText('GroupId', MAX_ID_LENGTH)
    checkUrl(body)
    const assetType = body.needed('AssetType', body.word('AssetType', ASSET_TYPES))
    const name = body.text('Name', MAX_NAME_LENGTH) ?? ''
    const moderation = new LibraryMembers(body.object('Moderation') ?? NO_FIELDS, 'Moderation.')
    if (moderation.word('Strategy', ['Default', 'Skip']) === 'Skip')
      throw body.invalid('Moderation', 'the strategy Skip is not available')
    const { groupType } = this.#group(order, groupId)
    const plan = this.#planOf(groupType, order.faults)
    const opening = openingOf(this.#kit, order, body.project, () => freshId(this.#kit, 'asset'))
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

  getAsset(order: SignedOrder): object {
    return assetShape(...this.#asked(order), this.#kit)
  }

  getGroup(order: SignedOrder): object {
    return groupShape(this.#askedGroup(order))
  }

  listAssets(order: SignedOrder): object {
    const nowMs = this.#kit.clock.nowMs()
    const all = this.#kit.assets.assets().map((kept): Listed => {
      const state = assetState(kept, nowMs)
      return {
        kept,
        visible: state.visible,
        groupId: kept.groupId,
        status: statusOf(state),
        updatedAtMs: Math.max(kept.updatedAtMs, state.atMs),
        shape: () => assetShape(kept, state, this.#kit),
      }
    })
    return this.#list(order, MAX_LISTED_ASSETS, all)
  }

  listGroups(order: SignedOrder): object {
    const nowMs = this.#kit.clock.nowMs()
    const all = this.#kit.assets.groups().map((kept): Listed => {
      const visible = groupExists(kept, nowMs)
      const { id: groupId, updatedAtMs } = kept
      return { kept, visible, groupId, status: null, updatedAtMs, shape: () => groupShape(kept) }
    })
    return this.#list(order, MAX_LISTED_GROUPS, all)
  }

  #list(order: SignedOrder, maxReach: number, all: readonly Listed[]): object {
    const listing = parseListing(order.body, maxReach)
    const { groupType, groupIds, statuses, name } = listing
    const found = all.filter(
      ({ kept, visible, groupId, status }) =>
        visible &&
        isOf(kept, order) &&
        kept.groupType === groupType &&
        (groupIds === null || groupIds.includes(groupId)) &&
        (statuses === null || status === null || statuses.includes(status)) &&
        (name === null || name === kept.name),
    )
    return pageOf(found, listing, order.faults)
  }

  async updateAsset(order: SignedOrder): Promise<object> {
    const [asset] = this.#asked(order)
    checkChangeable(asset)
    const name = new LibraryMembers(order.body).neededText('Name', MAX_NAME_LENGTH)
    const updatedAtMs = this.#kit.clock.nowMs()
    await this.#kit.assets.replace([{ ...asset, name, updatedAtMs }])
    return { Id: asset.id }
  }

  async updateGroup(order: SignedOrder): Promise<object> {
    const group = this.#askedGroup(order)
    checkChangeable(group)
    const body = new LibraryMembers(order.body)
    const name = body.text('Name', MAX_NAME_LENGTH) ?? group.name
    const description = body.text('Description', MAX_DESCRIPTION_LENGTH) ?? group.description
    const updatedAtMs = this.#kit.clock.nowMs()
    await this.#kit.assets.replace([{ ...group, name, description, updatedAtMs }])
    return { Id: group.id }
  }

  async deleteAsset(order: SignedOrder): Promise<object> {
    const [asset] = this.#asked(order)
    checkChangeable(asset)
    await this.#kit.assets.replace([{ ...asset, deletedAtMs: this.#kit.clock.nowMs() }])
    return {}
  }

  /** With every asset of it. */
  async deleteGroup(order: SignedOrder): Promise<object> {
    const group = this.#askedGroup(order)
    checkChangeable(group)
    const deletedAtMs = this.#kit.clock.nowMs()
    const assets = this.#kit.assets
      .assets()
      .filter((asset) => asset.groupId === group.id && asset.deletedAtMs === null)
    await this.#kit.assets.replace([group, ...assets].map((one) => ({ ...one, deletedAtMs })))
    return {}
  }

  #asked(order: SignedOrder): readonly [AssetRecord, TaskState] {
    const asset = this.#kit.assets.asset(idOf(order))
    const state = asset && assetState(asset, this.#kit.clock.nowMs())
    if (asset === null || !state?.visible || !isOf(asset, order))
      throw new Refusal('ResourceNotFound.Asset', 'The specified asset does not exist.')
    return [asset, state]
  }

  #askedGroup(order: SignedOrder): GroupRecord {
    return this.#group(order, idOf(order))
  }

  #group(order: SignedOrder, id: string): GroupRecord {
    const group = this.#kit.assets.group(id)
    if (group === null || !groupExists(group, this.#kit.clock.nowMs()) || !isOf(group, order))
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

function idOf({ body }: SignedOrder): string {
  return new LibraryMembers(body).neededText('Id', MAX_ID_LENGTH)
}

/** Libraries are separate from each other, and so are projects. */
function isOf(record: AssetRecord | GroupRecord, { region, body }: SignedOrder): boolean {
  return record.region === region && record.projectName === new LibraryMembers(body).project
}

/** A real upstream fetches the URL; the sandbox never does. */
function checkUrl(body: LibraryMembers): void {
  const url = body.neededText('URL', MAX_URL_LENGTH)
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw body.invalid('URL', 'it must be a public web address')
}

/** The general library keeps what it has. */
function checkChangeable({ groupType }: AssetRecord | GroupRecord): void {
  if (groupType === 'AIGC')
    throw new Refusal('InvalidAction', 'The action is not enabled for this asset library.')
}
