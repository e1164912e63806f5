import { Buffer } from 'node:buffer'
import { Type } from 'typebox'
import type { Principal } from '../../../app/access/principal.ts'
import type { FindAssetTypes } from '../../../app/assets/types.ts'
import { isDataUri, acceptImageBytes } from '../../../domain/catalog/checks/pictures.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { ASSET_SCHEME, type MediaKind, mediaKinds } from '../../../domain/catalog/checks/media.ts'
import { parsePixels } from '../../../domain/catalog/image-rules.ts'
import type { Catalog } from '../../../domain/catalog/catalog.ts'
import type {
  SimpleVideo,
  SimpleVideoRules,
  VideoReference,
} from '../../../domain/catalog/simple-video.ts'
import { readBody } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import type { ResolveHost } from '../../../kernel/public-url.ts'
import type { SentBody } from '../../kit/routes/creation-route.ts'
import type { FormUpload } from '../../kit/bodies/multipart.ts'
import type { Services } from '../../kit/services.ts'
import { MAX_MODEL_CHARACTERS, publicUrl } from '../../kit/bodies/member-checks.ts'
import { AUTO } from './view.ts'

/** Converts a JSON body or a form to an order for a video of any family. */

const REFERENCE = 'input_reference'
const MAX_REFERENCES = 50
const NO_FILE_ID = 'must be a file or a URL, not a `file_id`'

/** The family of videos that a model is of. @throws DomainError `unknown_model` */
export function videoFamilyOf({ videoFamilies }: Pick<Catalog, 'videoFamilies'>, model: string) {
  const found = videoFamilies.find(({ resolve }) => resolve(model) !== undefined)
  if (found !== undefined) return found
  throw new DomainError('unknown_model', `the model ${model} is not a video model`, { model })
}

/** A reference whose kind is not known yet: the asset knows it. */
interface NamedReference {
  readonly kind: MediaKind | undefined
  readonly url: string
}

/** The kind in a data URI; any other URL, except an asset's, is a picture by default. */
function kindOf(url: string): NamedReference['kind'] {
  if (url.startsWith(ASSET_SCHEME)) return undefined
  return mediaKinds.find((kind) => url.startsWith(`data:${kind}/`)) ?? 'image'
}

/** A reference, or the description of its fault. */
function referenceOf(value: unknown): NamedReference | string {
  if (typeof value === 'string') return { kind: kindOf(value), url: value }
  if (!isJsonObject(value)) return 'must be a URL, {image_url} or {url, type}'
  const { file_id, image_url: image, url, type } = value
  if (file_id !== undefined) return NO_FILE_ID
  const address = image ?? url
  if (typeof address !== 'string') return 'must have a URL'
  if (image !== undefined || type === undefined) return { kind: kindOf(address), url: address }
  const kind = mediaKinds.find((known) => known === type || `${known}_url` === type)
  return kind === undefined
    ? `must have a \`type\` of ${mediaKinds.join(', ')}`
    : { kind, url: address }
}

const referencesIn = (value: unknown): readonly (NamedReference | string)[] =>
  (Array.isArray(value) ? value : [value]).map(referenceOf)

const AnyReference = { properties: { image_url: {}, url: {}, type: {} } } as const
const Reference = Type.Union([
  Type.String({ description: 'A public URL, a data URI or asset://<id>.' }),
  Type.Object({ image_url: Type.String() }),
  Type.Object({ url: Type.String(), type: Type.Enum([...mediaKinds]) }),
])

const word = (description: string) => Type.Optional(Type.String({ maxLength: 32, description }))
const Size = word(
  `\`<width>x<height>\`, in place of resolution and ratio; \`${AUTO}\` counts as left out.`,
)

const example = {
  model: 'overseas-video-2-5',
  prompt: 'a paper boat',
  seconds: '4',
  size: '1280x720',
}

/** The parts of a form. */
const VideoForm = Type.Object(
  {
    model: Type.String(),
    prompt: Type.Optional(Type.String()),
    seconds: Type.Optional(Type.String()),
    size: Size,
    resolution: word('Such as `720p`.'),
    ratio: word('Such as `16:9`.'),
    generate_audio: Type.Optional(Type.Enum(['true', 'false'])),
    input_reference: Type.Optional(
      Type.Unsafe<unknown>({ type: 'string', format: 'binary', description: 'A picture.' }),
    ),
    'input_reference[image_url]': Type.Optional(
      Type.String({ description: 'Public URL of the picture.' }),
    ),
  },
  { named: 'VideoForm', additionalProperties: true, examples: [example] },
)

/** The members of a creation, which each family checks. In a form all of them are texts. */
export const CreateVideoBodySchema = Type.Object(
  {
    model: Type.String({
      minLength: 1,
      maxLength: MAX_MODEL_CHARACTERS,
      description: 'Name of the model; it selects the family.',
    }),
    // The family's own bound is lower.
    prompt: Type.Optional(Type.String({ maxLength: 100_000 })),
    seconds: Type.Optional(
      Type.Union([Type.String({ pattern: String.raw`^-?\d{1,4}$` }), Type.Integer()], {
        words: 'must be an integer',
      }),
    ),
    size: Size,
    resolution: word('Such as `720p`.'),
    ratio: word('Such as `16:9`.'),
    generate_audio: Type.Optional(
      Type.Union([Type.Boolean(), Type.Enum(['true', 'false'])], {
        words: 'must be true or false',
        documented: { type: 'boolean' },
      }),
    ),
    // A fault in one item is reported for the whole list.
    input_reference: Type.Optional(
      Type.Unsafe<unknown>({
        anyOf: [AnyReference, { items: AnyReference }],
        check: (value: unknown) => referencesIn(value).find((one) => typeof one === 'string'),
        documented: Type.Union([Reference, Type.Array(Reference)]),
      }),
    ),
  },
  {
    named: 'VideoRequest',
    additionalProperties: true,
    asForm: VideoForm,
    examples: [example],
  },
)

/** An order as it was sent. */
interface SentOrder {
  readonly order: SimpleVideo
  /** The member that its resolution and ratio follow from, where they were not given. */
  readonly size: string | undefined
}

/** In a form a reference may be several parts, with the member in the name of the part. */
function withReferences(sent: JsonObject): JsonObject {
  const [spelled, fileId] = ['image_url', 'file_id'].map(
    (name) => sent[`${REFERENCE}[${name}]`] ?? null,
  )
  if (fileId !== null) refuse(REFERENCE, `\`${REFERENCE}\` ${NO_FILE_ID}`)
  const listed = [sent[REFERENCE] ?? sent[`${REFERENCE}[]`] ?? []].flat()
  const references = spelled === null ? listed : [...listed, { image_url: spelled }]
  return { ...sent, [REFERENCE]: references }
}

/** @throws DomainError `invalid_request`, `asset_not_found` */
export async function readVideoOrder(
  { body: sent, form }: SentBody,
  principal: Principal,
  { hosts, assets }: Pick<Services, 'hosts' | 'assets'>,
): Promise<SentOrder> {
  const body = readBody(CreateVideoBodySchema, withReferences(sent))
  const size = body.size === AUTO ? undefined : body.size
  const { model, prompt, seconds, generate_audio: audio, input_reference: listed = [] } = body
  const named = [
    ...referencesIn(listed).filter((one) => typeof one !== 'string'),
    ...(form?.uploads ?? []).map(uploaded),
  ]
  if (named.length > MAX_REFERENCES)
    refuse(REFERENCE, `\`${REFERENCE}\` must have at most ${MAX_REFERENCES} entries`)
  const read = {
    model,
    prompt,
    seconds: seconds === undefined ? undefined : Number(seconds),
    ...pictureOf({ resolution: body.resolution, ratio: body.ratio, size }),
    generateAudio: audio === undefined ? undefined : String(audio) === 'true',
  }
  const references = await withAssetKinds(named, principal, assets.findAssetTypes)
  await checkHosts(references, hosts.resolve)
  return { order: { ...read, references }, size }
}

/**
 * The family of an order, and the accepted order. A refusal of the resolution or the ratio names
 * `size` if they were computed from it.
 *
 * @throws DomainError of those rules, `unknown_model`
 */
export function acceptVideo(
  catalog: Catalog,
  { order, size }: SentOrder,
): { readonly family: string } & ReturnType<SimpleVideoRules['accept']> {
  const { family, simpleVideo } = videoFamilyOf(catalog, order.model)
  try {
    return { family, ...simpleVideo.accept(order) }
  } catch (error) {
    const param = isDomainError(error) ? error.details['param'] : undefined
    if (!isDomainError(error) || size === undefined) throw error
    if (param !== 'resolution' && param !== 'ratio') throw error
    const message = `\`size\` ${size} means \`${param}\` ${String(order[param])}: ${error.message}`
    throw new DomainError(error.code, message, { ...error.details, param: 'size' })
  }
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

/** `size` has both: its shorter side is the resolution. */
function pictureOf({
  size,
  resolution,
  ratio,
}: Pick<SimpleVideo, 'resolution' | 'ratio'> & Pick<SentOrder, 'size'>): Pick<
  SimpleVideo,
  'resolution' | 'ratio'
> {
  if (size === undefined) return { resolution, ratio }
  if (resolution !== undefined || ratio !== undefined)
    return refuse('size', '`size` must be left out where `resolution` or `ratio` is given')
  const sides = parsePixels(size)
  if (sides === undefined) return refuse('size', `\`size\` must be <width>x<height> or ${AUTO}`)
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

function uploaded({ name, bytes }: FormUpload): VideoReference {
  if (name !== REFERENCE && name !== `${REFERENCE}[]`)
    return refuse(name, `The file must be in the field \`${REFERENCE}\``)
  const type = acceptImageBytes(bytes, REFERENCE)
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return { kind: 'image', url: `data:${type};base64,${base64}` }
}

/** Upstream fetches them; the gateway checks their address like a callback's. */
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
