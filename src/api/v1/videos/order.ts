import { Buffer } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import type { Principal } from '../../../app/access/principal.ts'
import type { FindAssetTypes } from '../../../app/assets/types.ts'
import { acceptImageBytes } from '../../../domain/families/checks/image-bytes.ts'
import { isDataUri } from '../../../domain/families/checks/data-uri.ts'
import { refuse, text } from '../../../domain/families/checks/fields.ts'
import { ASSET_SCHEME } from '../../../domain/families/checks/media.ts'
import { parsePixels } from '../../../domain/families/checks/pixels.ts'
import type { SimpleVideo, VideoReference } from '../../../domain/families/simple-video.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import { objectBody } from '../../kit/json-body.ts'
import { isForm } from '../../kit/media-type.ts'
import { type FormLimits, type FormUpload, type ReadForm, readForm } from '../../kit/multipart.ts'
import { given, modelName } from '../../kit/member-checks.ts'
import { publicUrl } from '../../kit/public-url.ts'

/** From a body of either form to a video that any family can be asked for. */

export interface OrderDeps {
  /** What a caller's assets are, where it does not say so itself. */
  readonly findAssetTypes: FindAssetTypes
  readonly resolveHost: ResolveHost
  readonly formLimits: FormLimits
  /** Refuses parts of a form that are misspelt or another interface's. @throws RequestError */
  readonly checkParts: (form: ReadForm) => void
}

const REFERENCE = 'input_reference'
const MAX_REFERENCES = 50
const MAX_WORD_LENGTH = 32
/** The family's own bound is lower. */
const MAX_PROMPT_LENGTH = 100_000
const KINDS = ['image', 'video', 'audio'] as const

/** @throws DomainError `invalid_request`; RequestError */
export async function readVideoOrder(
  request: FastifyRequest,
  principal: Principal,
  deps: OrderDeps,
): Promise<SimpleVideo> {
  if (!isForm(request))
    return readVideoMembers({ fields: objectBody(request.body), uploads: [] }, principal, deps)
  const form = await readForm(request, deps.formLimits)
  deps.checkParts(form)
  return readVideoMembers(form, principal, deps)
}

/** The same of what a body of either form holds. @throws DomainError `invalid_request`, `asset_not_found` */
export async function readVideoMembers(
  { fields, uploads }: { readonly fields: JsonObject; readonly uploads: readonly FormUpload[] },
  principal: Principal,
  { resolveHost, findAssetTypes }: Pick<OrderDeps, 'resolveHost' | 'findAssetTypes'>,
): Promise<SimpleVideo> {
  const named = [...referencesOf(fields), ...uploads.map(uploaded)]
  if (named.length > MAX_REFERENCES)
    refuse(REFERENCE, `\`${REFERENCE}\` must have at most ${MAX_REFERENCES} entries`)
  const prompt = given(fields, 'prompt')
  const checked = {
    model: modelName(fields),
    prompt: prompt === undefined ? undefined : text(prompt, 'prompt', MAX_PROMPT_LENGTH),
    seconds: secondsOf(given(fields, 'seconds')),
    ...pictureOf(fields),
    generateAudio: flagOf(given(fields, 'generate_audio')),
  }
  const references = await withAssetKinds(named, principal, findAssetTypes)
  await checkHosts(references, resolveHost)
  return { ...checked, references }
}

/** A reference whose kind nobody has said yet: an asset has one. */
interface NamedReference {
  readonly kind: VideoReference['kind'] | undefined
  readonly url: string
}

const KIND_OF_TYPE = { Image: 'image', Video: 'video', Audio: 'audio' } as const

async function withAssetKinds(
  named: readonly NamedReference[],
  principal: Principal,
  findAssetTypes: FindAssetTypes,
): Promise<readonly VideoReference[]> {
  const assets = named.flatMap(({ kind, url }) =>
    kind === undefined ? [{ assetId: url.slice(ASSET_SCHEME.length), param: REFERENCE }] : [],
  )
  const types = await findAssetTypes(principal, assets)
  return named.map(({ kind, url }) => {
    const type = types.get(url.slice(ASSET_SCHEME.length))
    return { kind: kind ?? (type === undefined ? 'image' : KIND_OF_TYPE[type]), url }
  })
}

/** As text too, which is all a form has. */
function secondsOf(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const seconds = typeof value === 'string' && /^-?\d{1,4}$/.test(value) ? Number(value) : value
  if (typeof seconds === 'number' && Number.isSafeInteger(seconds)) return seconds
  return refuse('seconds', '`seconds` must be an integer')
}

function flagOf(value: unknown): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  return refuse('generate_audio', '`generate_audio` must be true or false')
}

function wordOf(fields: JsonObject, name: string): string | undefined {
  const value = given(fields, name)
  return value === undefined ? undefined : text(value, name, MAX_WORD_LENGTH)
}

/** `size` says both in one: its shorter side is the resolution. */
function pictureOf(fields: JsonObject): Pick<SimpleVideo, 'resolution' | 'ratio'> {
  const size = wordOf(fields, 'size')
  const resolution = wordOf(fields, 'resolution')
  const ratio = wordOf(fields, 'ratio')
  if (size === undefined) return { resolution, ratio }
  if (resolution !== undefined || ratio !== undefined)
    return refuse('size', '`size` must be left out where `resolution` or `ratio` is given')
  const sides = parsePixels(size)
  if (sides === undefined) return refuse('size', '`size` must be <width>x<height>')
  const { width, height } = sides
  const common = greatestCommonDivisor(width, height)
  return {
    resolution: `${Math.min(width, height)}p`,
    ratio: `${width / common}:${height / common}`,
  }
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other)
}

/** One or several; a form may spell a member of one out in the name of its part. */
function referencesOf(fields: JsonObject): readonly NamedReference[] {
  const listed = given(fields, REFERENCE) ?? given(fields, `${REFERENCE}[]`) ?? []
  const spelled = given(fields, `${REFERENCE}[image_url]`)
  const all: readonly unknown[] = Array.isArray(listed) ? listed : [listed]
  if (given(fields, `${REFERENCE}[file_id]`) !== undefined) refuseFileId()
  return [...all, ...(spelled === undefined ? [] : [{ image_url: spelled }])].map(referenceOf)
}

function refuseFileId(): never {
  return refuse(REFERENCE, `\`${REFERENCE}\` takes a file itself or a URL, no \`file_id\``)
}

function referenceOf(value: unknown): NamedReference {
  if (typeof value === 'string') return { kind: kindOf(value), url: value }
  if (!isJsonObject(value))
    return refuse(REFERENCE, `\`${REFERENCE}\` must be a URL, {image_url} or {url, type}`)
  if (given(value, 'file_id') !== undefined) return refuseFileId()
  const image = given(value, 'image_url')
  const url = image ?? given(value, 'url')
  if (typeof url !== 'string') return refuse(REFERENCE, `\`${REFERENCE}\` must have a URL`)
  const type = given(value, 'type')
  if (image !== undefined || type === undefined) return { kind: kindOf(url), url }
  const kind = KINDS.find((known) => known === type || `${known}_url` === type)
  if (kind !== undefined) return { kind, url }
  return refuse(REFERENCE, `\`type\` of \`${REFERENCE}\` must be one of ${KINDS.join(', ')}`)
}

/** What a data URI says that it is; anything else but an asset is a picture until it is said otherwise. */
function kindOf(url: string): NamedReference['kind'] {
  if (url.startsWith(ASSET_SCHEME)) return undefined
  return KINDS.find((kind) => url.startsWith(`data:${kind}/`)) ?? 'image'
}

function uploaded({ name, bytes }: FormUpload): VideoReference {
  if (name !== REFERENCE && name !== `${REFERENCE}[]`)
    return refuse(name, `A form with a file has it in \`${REFERENCE}\``)
  const type = acceptImageBytes(bytes, REFERENCE)
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { kind: 'image', url: `data:${type};base64,${base64}` }
}

/** Upstream fetches them; where they lie is checked like a callback. */
async function checkHosts(
  references: readonly VideoReference[],
  resolveHost: ResolveHost,
): Promise<void> {
  await Promise.all(
    references.map(async ({ url }) => {
      if (isDataUri(url) || !/^https?:/i.test(url)) return
      await publicUrl(url, REFERENCE, resolveHost, 'fetch')
    }),
  )
}
