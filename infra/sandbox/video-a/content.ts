import type { Region } from '../assets/signature.ts'
import { type AssetRecord, assetState, type AssetType, statusOf } from '../assets/store.ts'
import type { FamilyKit } from '../family.ts'
import { Refusal } from '../http/wire.ts'
import type { Fields } from '../kit/body.ts'

/** What matters of a request's content; prompts and media are not kept. */
export interface Content {
  readonly prompt: string
  readonly referenceVideos: number
  readonly hasFirstFrame: boolean
  /** What is taken from the account's asset library. */
  readonly assets: readonly AssetReference[]
}

/** An `asset://` reference, and where it stands. */
interface AssetReference {
  readonly id: string
  readonly kind: 'image_url' | 'video_url' | 'audio_url'
  readonly where: string
}

type Kind = 'text' | 'image_url' | 'video_url' | 'audio_url' | 'draft_task'

interface Item {
  readonly kind: Kind
  readonly role: string | null
  readonly text: string
  readonly asset: AssetReference | null
}

const ROLES: Readonly<Record<string, readonly string[]>> = {
  text: [],
  image_url: ['first_frame', 'last_frame', 'reference_image'],
  video_url: ['reference_video'],
  audio_url: ['reference_audio'],
  draft_task: [],
}

const MAX_ITEMS = 200

/** The refusal of a part of the content. */
const invalid = (where: string, why: string): Refusal =>
  new Refusal(
    'InvalidParameter.content',
    `The parameter \`${where}\` specified in the request is not valid: ${why}.`,
    where,
  )

const missing = (where: string): Refusal =>
  new Refusal('MissingParameter.content', `The request is missing \`${where}\`.`, where)

function memberOf(item: object, name: string): unknown {
  return Object.hasOwn(item, name) ? (item as Fields)[name] : undefined
}

/** Web address, asset, or inline data where the kind takes it: reference video does not. */
function checkUrl(kind: Kind, url: string, where: string): void {
  const inline = /^data:(?:image|audio)\//i.test(url)
  if (inline && kind === 'video_url') throw invalid(where, 'video cannot be passed as data')
  if (!inline && !/^(?:https?:\/\/|asset:\/\/)./i.test(url)) throw invalid(where, 'not a URL')
}

function parseItem(value: unknown, index: number): Item {
  const where = `content[${index}]`
  if (typeof value !== 'object' || value === null) throw invalid(where, 'it must be an object')
  const type = memberOf(value, 'type')
  if (typeof type !== 'string' || !Object.hasOwn(ROLES, type)) {
    throw invalid(`${where}.type`, 'the type is unknown')
  }
  const kind = type as Kind
  const role = memberOf(value, 'role') ?? null
  if (role !== null && (typeof role !== 'string' || !(ROLES[kind] ?? []).includes(role))) {
    throw invalid(`${where}.role`, `the role does not fit ${kind}`)
  }
  if (kind === 'text') {
    const text = memberOf(value, 'text')
    if (typeof text !== 'string') throw missing(`${where}.text`)
    return { kind, role: null, text, asset: null }
  }
  const holder = memberOf(value, kind)
  const name = kind === 'draft_task' ? 'id' : 'url'
  const inner = typeof holder === 'object' && holder !== null ? memberOf(holder, name) : undefined
  if (typeof inner !== 'string' || inner === '') throw missing(`${where}.${kind}.${name}`)
  if (kind === 'draft_task') return { kind, role, text: '', asset: null }
  const place = `${where}.${kind}.url`
  checkUrl(kind, inner, place)
  const id = /^asset:\/\/(.+)$/is.exec(inner)?.[1]
  return { kind, role, text: '', asset: id === undefined ? null : { id, kind, where: place } }
}

function checkFrames(items: readonly Item[]): void {
  const count = (role: string): number => items.filter((item) => item.role === role).length
  const first = count('first_frame')
  const last = count('last_frame')
  if (first > 1 || last > 1) throw invalid('content', 'only one first and one last frame')
  if (last > first) throw invalid('content', 'last_frame needs first_frame')
  if (first > 0 && items.some((item) => item.role?.startsWith('reference_') === true)) {
    throw invalid('content', 'first and last frames cannot be mixed with references')
  }
}

/** Reads `content`. @throws Refusal */
export function parseContent(value: unknown): Content {
  if (value === undefined) throw missing('content')
  if (!Array.isArray(value)) throw invalid('content', 'it must be an array')
  if (value.length === 0) throw missing('content')
  if (value.length > MAX_ITEMS) throw invalid('content', `at most ${MAX_ITEMS} items`)
  const items = value.map(parseItem)
  checkFrames(items)
  const prompt = items.map((item) => item.text).join('\n')
  const textOnly = items.every((item) => item.kind === 'text')
  if (textOnly && prompt.trim() === '') throw missing('content.text')
  return {
    prompt,
    referenceVideos: items.filter((item) => item.kind === 'video_url').length,
    hasFirstFrame: items.some((item) => item.role === 'first_frame'),
    assets: items.flatMap(({ asset }) => (asset === null ? [] : [asset])),
  }
}

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
  model: string,
  references: readonly AssetReference[],
): void {
  const nowMs = clock.nowMs()
  const region = regionOf(model)
  const isUsable = (asset: AssetRecord): boolean => {
    const state = assetState(asset, nowMs)
    return (
      (region ?? asset.region) === asset.region && state.visible && statusOf(state) === 'Active'
    )
  }
  for (const { id, kind, where } of references) {
    const asset = assets.asset(id)
    if (asset === null || !isUsable(asset))
      throw invalid(where, 'the asset does not exist or is not active')
    if (asset.assetType !== TYPES[kind]) throw invalid(where, `the asset is no ${TYPES[kind]}`)
  }
}
