import type {
  AssetGroupView,
  AssetUseCases,
  AssetView,
  ObjectRequest,
} from '../../../src/app/assets/types.ts'
import { DomainError, type DomainCode } from '../../../src/kernel/errors.ts'

/** One request to a use case. */
interface Asked {
  readonly of: keyof AssetUseCases
  readonly input: unknown
}

/** Ids of what the library in memory has, and of what it makes. */
export const assetId = 'asset-01KJWVV3C5PZ4QAM0N1RXD2E6F'
export const groupId = 'group-01KJWVV3C5PZ4QAM0N1RXD2E6G'
export const newAssetId = 'asset-01KJWVV3C5PZ4QAM0N1RXD2E6H'
export const newGroupId = 'group-01KJWVV3C5PZ4QAM0N1RXD2E6J'
export const personGroupId = 'group-01KJWVV3C5PZ4QAM0N1RXD2E6K'
/** The credential of the one verification there is. */
export const credential = '20260304050607CREDENTIAL0001'
export const link = 'https://verify.example.com/h5?token=LINKSECRET01&lng=en'

/** The asset library in memory: enough to see what the routes ask and how they answer. */
export class MemoryAssets implements AssetUseCases {
  readonly asked: Asked[] = []
  /** Thrown by every use case while set. */
  failure: unknown
  /** What there is, of `tenant_1`. */
  asset: AssetView
  group: AssetGroupView
  /** Whether the person of the one verification has been verified. */
  verified = false

  constructor(nowMs: number) {
    const kept = {
      groupId,
      groupType: 'AIGC',
      region: 'domestic',
      projectName: 'default',
      createdAtMs: nowMs,
      updatedAtMs: nowMs + 1_500,
    } as const
    this.asset = {
      ...kept,
      assetId,
      name: 'hero',
      assetType: 'Image',
      status: 'Processing',
      error: undefined,
      url: undefined,
    }
    this.group = { ...kept, name: 'heroes', description: 'all of them' }
  }

  readonly findAssetTypes: AssetUseCases['findAssetTypes'] = async (principal, wanted) => {
    if (wanted.length === 0) return new Map()
    await this.#take('findAssetTypes', { principal, wanted })
    for (const { assetId: id, param } of wanted)
      if (id !== this.asset.assetId || principal.tenantId !== 'tenant_1')
        throw new DomainError('asset_not_found', 'no such asset', { param })
    return new Map([[this.asset.assetId, this.asset.assetType]])
  }

  readonly createGroup: AssetUseCases['createGroup'] = async (input) => {
    await this.#take('createGroup', input)
    return { groupId: newGroupId }
  }

  readonly createAsset: AssetUseCases['createAsset'] = async (input) => {
    await this.#take('createAsset', input)
    return { assetId: newAssetId }
  }

  readonly getAsset: AssetUseCases['getAsset'] = async (key) => {
    await this.#take('getAsset', key)
    this.#find(key, this.asset.assetId, 'asset_not_found')
    return this.asset
  }

  readonly getGroup: AssetUseCases['getGroup'] = async (key) => {
    await this.#take('getGroup', key)
    this.#find(key, this.group.groupId, 'asset_group_not_found')
    return this.group
  }

  readonly listAssets: AssetUseCases['listAssets'] = async (listing) => {
    await this.#take('listAssets', listing)
    return { items: [{ ...this.asset, url: undefined }], total: 41 }
  }

  readonly listGroups: AssetUseCases['listGroups'] = async (listing) => {
    await this.#take('listGroups', listing)
    return { items: [this.group], total: 1 }
  }

  readonly updateAsset: AssetUseCases['updateAsset'] = async (change) => {
    await this.#take('updateAsset', change)
    this.#find(change, this.asset.assetId, 'asset_not_found')
  }

  readonly updateGroup: AssetUseCases['updateGroup'] = async (change) => {
    await this.#take('updateGroup', change)
    this.#find(change, this.group.groupId, 'asset_group_not_found')
  }

  readonly deleteAsset: AssetUseCases['deleteAsset'] = async (key) => {
    await this.#take('deleteAsset', key)
    this.#find(key, this.asset.assetId, 'asset_not_found')
  }

  readonly deleteGroup: AssetUseCases['deleteGroup'] = async (key) => {
    await this.#take('deleteGroup', key)
    this.#find(key, this.group.groupId, 'asset_group_not_found')
  }

  readonly startVerification: AssetUseCases['startVerification'] = async (order) => {
    await this.#take('startVerification', order)
    return { credential, link }
  }

  readonly verificationResult: AssetUseCases['verificationResult'] = async (key) => {
    await this.#take('verificationResult', key)
    if (key.credential !== credential)
      throw new DomainError('verification_not_found', 'there is none', {})
    return { groupId: this.verified ? personGroupId : undefined }
  }

  async #take(of: keyof AssetUseCases, input: unknown): Promise<void> {
    await Promise.resolve()
    this.asked.push({ of, input })
    if (this.failure !== undefined) throw this.failure
  }

  #find({ principal, id }: ObjectRequest, known: string, code: DomainCode): void {
    if (principal.tenantId !== 'tenant_1' || id !== known)
      throw new DomainError(code, 'in our words', {})
  }
}
