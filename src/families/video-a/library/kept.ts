import { assetTypes } from '../../../domain/asset/events.ts'
import { refuse } from '../../../domain/families/checks/fields.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { given, optionalObject } from '../../../api/kit/member-checks.ts'
import { publicUrl } from '../../../api/kit/public-url.ts'
import { MAX_DESCRIPTION_CHARACTERS, MAX_NAME_CHARACTERS } from './bounds.ts'
import { namingOf, placingOf, type RunAction } from './call.ts'
import { choiceOf, idIn, lacking, optionalText } from './checks.ts'
import { toAsset, toAssetGroup } from './view.ts'

/** Actions on one asset or one group. */

function nameIn(body: JsonObject): string | undefined {
  return optionalText(body, 'Name', MAX_NAME_CHARACTERS)
}

function descriptionIn(body: JsonObject): string | undefined {
  return optionalText(body, 'Description', MAX_DESCRIPTION_CHARACTERS)
}

/** Groups of persons are never ordered: they come to be when somebody is verified. */
function checkGroupType(body: JsonObject): void {
  const type = given(body, 'GroupType')
  if (type === undefined || type === 'AIGC') return
  refuse(
    'GroupType',
    type === 'LivenessFace'
      ? '`GroupType` LivenessFace cannot be created: the group of a real person comes from a verification (CreateVisualValidateSession)'
      : '`GroupType` must be AIGC',
  )
}

export const createAssetGroup: RunAction = async (call, { assets }) => {
  const { placing } = placingOf(call)
  checkGroupType(call.body)
  const { groupId } = await assets.createGroup({
    ...placing,
    name: nameIn(call.body) ?? '',
    description: descriptionIn(call.body) ?? '',
  })
  return { Id: groupId }
}

/** What is uploaded is always moderated. */
function checkModeration(body: JsonObject): void {
  const moderation = optionalObject(body, 'Moderation')
  const strategy = moderation && given(moderation, 'Strategy')
  if (strategy === undefined || strategy === 'Default') return
  const param = 'Moderation.Strategy'
  refuse(
    param,
    strategy === 'Skip' ? `\`${param}\` Skip is not available` : `\`${param}\` must be Default`,
  )
}

/** How the address may be written: overseas in two ways more. */
const spellings = { domestic: ['URL'], overseas: ['URL', 'Url', 'url'] } as const

async function urlIn(
  body: JsonObject,
  region: keyof typeof spellings,
  resolveHost: ResolveHost,
): Promise<string> {
  const [name, other] = spellings[region].filter((one) => given(body, one) !== undefined)
  if (name === undefined)
    return lacking('URL', region === 'domestic' ? 'is required, and spelt like this' : undefined)
  if (other !== undefined) return refuse(other, `\`${other}\` says what \`${name}\` says: send one`)
  const value = given(body, name)
  if (typeof value !== 'string') return refuse(name, `\`${name}\` must be a string`)
  if (!/^\s*https?:/i.test(value))
    return refuse(
      name,
      `\`${name}\` must be a public https:// or http:// URL; neither Base64 nor a data: URI is taken`,
    )
  return publicUrl(value, name, resolveHost, 'fetch')
}

export const createAsset: RunAction = async (call, { assets, resolveHost }) => {
  const { body } = call
  const { placing, region } = placingOf(call)
  const groupId = idIn(body, 'group', 'GroupId')
  const type = given(body, 'AssetType') ?? lacking('AssetType')
  const assetType = choiceOf(type, assetTypes, 'AssetType')
  const name = nameIn(body) ?? ''
  checkModeration(body)
  const url = await urlIn(body, region, resolveHost)
  const { assetId } = await assets.createAsset({ ...placing, groupId, url, assetType, name })
  return { Id: assetId }
}

export const getAsset: RunAction = async (call, { assets }) => {
  const view = await assets.getAsset(namingOf(call, 'asset'))
  call.noteRegion(view.region)
  return toAsset(view)
}

export const getAssetGroup: RunAction = async (call, { assets }) => {
  const view = await assets.getGroup(namingOf(call, 'group'))
  call.noteRegion(view.region)
  return toAssetGroup(view)
}

export const updateAsset: RunAction = async (call, { assets }) => {
  const naming = namingOf(call, 'asset')
  await assets.updateAsset({ ...naming, name: nameIn(call.body) ?? lacking('Name') })
  return { Id: naming.id }
}

export const updateAssetGroup: RunAction = async (call, { assets }) => {
  const naming = namingOf(call, 'group')
  const name = nameIn(call.body)
  const description = descriptionIn(call.body)
  if (name === undefined && description === undefined)
    return lacking('Name', 'or `Description` is required')
  await assets.updateGroup({ ...naming, name, description })
  return { Id: naming.id }
}

export const deleteAsset: RunAction = async (call, { assets }) => {
  await assets.deleteAsset(namingOf(call, 'asset'))
  return {}
}

export const deleteAssetGroup: RunAction = async (call, { assets }) => {
  await assets.deleteGroup(namingOf(call, 'group'))
  return {}
}
