import type { Static } from 'typebox'
import { publicUrl } from '../../../api/kit/bodies/member-checks.ts'
import type { Services } from '../../../api/kit/services.ts'
import type {
  LibraryRequest,
  AssetListing,
  AssetPage,
  ObjectRequest,
  ModelRequest,
} from '../../../app/assets/types.ts'
import type { Channel } from '../../../app/ports/provider.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import { readBody } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { isAssetGroupId, isAssetId } from '../../../kernel/ids.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { resolveVideoAModel } from '../rules/models.ts'
import { toAsset, toAssetGroup } from './answers.ts'
import { type ActionName, bodies, DEFAULT_PAGE_SIZE, FilterSchema, MAX_LISTED } from './requests.ts'

/** Dependencies of an action. */
interface Call {
  readonly asking: LibraryRequest
  /** The body as it was sent. */
  readonly body: JsonObject
  /** Called with the region of the asset or group in the request, as soon as it is known. */
  readonly noteRegion: (region: Channel['region']) => void
}

/** Reads the body, calls the use case, and returns the content of `Result`. */
type RunAction = (call: Call, services: Pick<Services, 'assets' | 'hosts'>) => Promise<object>

const known = knownModel(resolveVideoAModel)

/** The place of an asset or group in a request. */
interface Where<Model> {
  readonly model: Model
  readonly ProjectName?: string
}

function placingOf({ asking }: Call, { model, ProjectName }: Where<string>): ModelRequest {
  return { ...asking, model: known(model).name, projectName: ProjectName }
}

function scopeOf({ asking }: Call, body: Partial<Where<string>>): Omit<ObjectRequest, 'id'> {
  const { model, ProjectName: projectName } = body
  return { ...asking, model: model === undefined ? undefined : known(model).name, projectName }
}

/** Refuses a request that lacks a member. @throws DomainError `invalid_request` always */
function lacking(param: string, words: string): never {
  throw new DomainError('invalid_request', `\`${param}\` ${words}`, { param, keyword: 'required' })
}

/** A text that cannot be an id is not looked up. @throws DomainError `asset_not_found` */
function assetIn(id: string): string {
  if (isAssetId(id)) return id
  throw new DomainError('asset_not_found', 'no such id', {})
}

/** @throws DomainError `asset_group_not_found` */
function groupIn(id: string): string {
  if (isAssetGroupId(id)) return id
  throw new DomainError('asset_group_not_found', 'no such id', {})
}

type Key = Partial<Where<string>> & { readonly Id: string }

const assetOf = (call: Call, body: Key): ObjectRequest => ({
  ...scopeOf(call, body),
  id: assetIn(body.Id),
})
const groupOf = (call: Call, body: Key): ObjectRequest => ({
  ...scopeOf(call, body),
  id: groupIn(body.Id),
})

/** The spellings of the URL; overseas has two more. */
const spellings = { domestic: ['URL'], overseas: ['URL', 'Url', 'url'] } as const

async function urlIn(
  body: JsonObject,
  region: keyof typeof spellings,
  resolveHost: ResolveHost,
): Promise<string> {
  const [name, other] = spellings[region].filter((one) => body[one] !== undefined)
  if (name === undefined)
    return lacking(
      'URL',
      region === 'domestic' ? 'is required; its name is case-sensitive' : 'is required',
    )
  if (other !== undefined)
    return refuse(other, `\`${other}\` and \`${name}\` mean the same: send only one`)
  const value = body[name]
  if (typeof value !== 'string') return refuse(name, `\`${name}\` must be a string`)
  if (!/^\s*https?:/i.test(value))
    return refuse(
      name,
      `\`${name}\` must be a public https:// or http:// URL; neither Base64 nor a data: URI is accepted`,
    )
  return publicUrl(value, name, resolveHost, 'fetch')
}

type ListAction = 'ListAssets' | 'ListAssetGroups'

/** A missing filter returns everything, so filter members outside of `Filter` are refused. */
function checkFilter(body: JsonObject): void {
  const names = Object.keys(FilterSchema.properties)
  const outside = names.find((name) => (body[name] ?? null) !== null)
  if (outside !== undefined) refuse(outside, `\`${outside}\` belongs inside \`Filter\``)
  const { Filter: filter } = body
  const unknown = Object.keys(isJsonObject(filter) ? filter : {}).find(
    (name) => !names.includes(name),
  )
  if (unknown !== undefined)
    refuse(`Filter.${unknown}`, `\`Filter\` accepts only ${names.join(', ')}`)
}

function listingOf(call: Call, action: ListAction): AssetListing {
  checkFilter(call.body)
  const body: Static<(typeof bodies)[ListAction]> = readBody(bodies[action], call.body)
  const { GroupType, GroupIds = [], Statuses = [], Name = '' } = body.Filter
  const { PageNumber = 1, PageSize = DEFAULT_PAGE_SIZE } = body
  if (PageNumber * PageSize > MAX_LISTED)
    refuse('PageNumber', `\`PageNumber\` times \`PageSize\` must be at most ${MAX_LISTED}`)
  return {
    ...scopeOf(call, body),
    groupType: GroupType,
    // An empty list is no filter. A text that cannot be an id is not looked up.
    groupIds: GroupIds.length === 0 ? undefined : [...new Set(GroupIds)].filter(isAssetGroupId),
    statuses: Statuses.length === 0 ? undefined : [...new Set(Statuses)],
    name: Name === '' ? undefined : Name,
    pageNumber: PageNumber,
    pageSize: PageSize,
    sortBy: body.SortBy ?? 'CreateTime',
    sortOrder: body.SortOrder ?? 'Desc',
  }
}

function shown<View>(
  { items, total }: AssetPage<View>,
  { pageNumber, pageSize }: AssetListing,
  show: (view: View) => object,
): object {
  return {
    Items: items.map(show),
    TotalCount: total,
    PageNumber: pageNumber,
    PageSize: pageSize,
  }
}

/**
 * The handlers of the actions. Credentials and links of a verification are never stored and never
 * logged.
 */
export const actions: Readonly<Record<ActionName, RunAction>> = {
  CreateAssetGroup: async (call, { assets }) => {
    const body = readBody(bodies.CreateAssetGroup, call.body)
    const { Name: name = '', Description: description = '' } = body
    const { groupId } = await assets.createGroup({ ...placingOf(call, body), name, description })
    return { Id: groupId }
  },
  CreateAsset: async (call, { assets, hosts }) => {
    const body = readBody(bodies.CreateAsset, call.body)
    const { AssetType: assetType, Name: name = '' } = body
    const groupId = groupIn(body.GroupId)
    const url = await urlIn(body, known(body.model).region, hosts.resolve)
    const asset = { ...placingOf(call, body), groupId, url, assetType, name }
    return { Id: (await assets.createAsset(asset)).assetId }
  },
  ListAssets: async (call, { assets }) => {
    const listing = listingOf(call, 'ListAssets')
    return shown(await assets.listAssets(listing), listing, toAsset)
  },
  ListAssetGroups: async (call, { assets }) => {
    // A group has no state: a filter by states was checked, and excludes no group.
    const listing = listingOf(call, 'ListAssetGroups')
    return shown(await assets.listGroups(listing), listing, toAssetGroup)
  },
  GetAsset: async (call, { assets }) => {
    const body = readBody(bodies.GetAsset, call.body)
    const view = await assets.getAsset(assetOf(call, body))
    call.noteRegion(view.region)
    return toAsset(view)
  },
  GetAssetGroup: async (call, { assets }) => {
    const body = readBody(bodies.GetAssetGroup, call.body)
    const view = await assets.getGroup(groupOf(call, body))
    call.noteRegion(view.region)
    return toAssetGroup(view)
  },
  UpdateAsset: async (call, { assets }) => {
    const body = readBody(bodies.UpdateAsset, call.body)
    const naming = assetOf(call, body)
    await assets.updateAsset({ ...naming, name: body.Name })
    return { Id: naming.id }
  },
  UpdateAssetGroup: async (call, { assets }) => {
    const body = readBody(bodies.UpdateAssetGroup, call.body)
    const naming = groupOf(call, body)
    const { Name: name, Description: description } = body
    if (name === undefined && description === undefined)
      return lacking('Name', 'or `Description` is required')
    await assets.updateGroup({ ...naming, name, description })
    return { Id: naming.id }
  },
  DeleteAsset: async (call, { assets }) => {
    const body = readBody(bodies.DeleteAsset, call.body)
    await assets.deleteAsset(assetOf(call, body))
    return {}
  },
  DeleteAssetGroup: async (call, { assets }) => {
    const body = readBody(bodies.DeleteAssetGroup, call.body)
    await assets.deleteGroup(groupOf(call, body))
    return {}
  },
  CreateVisualValidateSession: async (call, { assets, hosts }) => {
    const body = readBody(bodies.CreateVisualValidateSession, call.body)
    const callbackUrl = await publicUrl(body.CallbackURL, 'CallbackURL', hosts.resolve)
    const asked = { ...placingOf(call, body), callbackUrl }
    const { credential, link } = await assets.startVerification(asked)
    return { ProviderToken: credential, H5Link: link, CallbackURL: callbackUrl }
  },
  GetVisualValidateResult: async (call, { assets }) => {
    const body = readBody(bodies.GetVisualValidateResult, call.body)
    const asked = { ...placingOf(call, body), credential: body.ProviderToken }
    const { groupId } = await assets.verificationResult(asked)
    // Empty while the person is not verified yet.
    return { GroupId: groupId ?? '' }
  },
}
