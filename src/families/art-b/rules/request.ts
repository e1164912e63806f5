import { type Static, Type } from 'typebox'
import { imageDataUriFault, isDataUri } from '../../../domain/catalog/checks/pictures.ts'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { knownModel } from '../../../domain/catalog/checks/known-model.ts'
import { isWebUrl, MAX_URL_LENGTH } from '../../../domain/catalog/checks/media.ts'
import { passedImageMembers } from '../../../domain/catalog/checks/price-members.ts'
import type { ImageInput, ImageOrder, ImageRequest } from '../../../domain/catalog/image-rules.ts'
import { NotBlank, readBody, RefusedMember } from '../../../kernel/body.ts'
import { DomainError } from '../../../kernel/errors.ts'
import { isJsonObject, membersGiven } from '../../../kernel/json.ts'
import { textFault } from '../../../kernel/storable-text.ts'
import { acceptSize, type ArtBModel, artBModel, artBModels, MAX_GROUP } from './models.ts'

/**
 * The body of the `artB-*` models, and the rules that depend on the model or on several members.
 */

const OPTIONS = 'sequential_image_generation_options'
const SEARCH = { type: 'web_search' } as const
const isSearch = (tool: unknown) => isJsonObject(tool) && tool['type'] === SEARCH.type

/** Base64 without its head may be of any length: report it as an invalid URL, not as a long one. */
function pictureFault(url: string): string | undefined {
  if (!isDataUri(url)) return /^https?:/i.test(url) ? textFault(url, MAX_URL_LENGTH) : undefined
  const isWebp = /^data:image\/webp/i.test(url)
  return (
    imageDataUriFault(url) ?? (isWebp ? 'must be a PNG or JPEG picture as a data URI' : undefined)
  )
}

const Picture = Type.String({ check: pictureFault, description: 'A public URL or a data URI.' })
const unwanted = RefusedMember('is not accepted by this model: send pictures as `image`')
/** Accepted because some callers send them to every model; upstream has neither. */
const unheard = Type.Optional(Type.String({ maxLength: 64, description: 'Accepted and ignored.' }))

export const artBBody = Type.Object(
  {
    model: Type.Enum(artBModels.flatMap(({ name, version }) => [name, version])),
    // Far more than the 600 words these models read well.
    prompt: Type.String({ maxLength: 32_000, ...NotBlank }),
    n: Type.Optional(
      Type.Unsafe<unknown>({ documented: { type: 'integer', description: '1, or absent.' } }),
    ),
    images: unwanted,
    mask: unwanted,
    image: Type.Optional(
      Type.Union(
        [
          Picture,
          Type.Array(Picture, {
            minItems: 1,
            words: { minItems: 'must hold at least one picture' },
          }),
        ],
        { description: 'Pictures to start from; their maximum number depends on the model.' },
      ),
    ),
    size: Type.Optional(
      Type.String({
        maxLength: 32,
        description: '`<width>x<height>` or a size tier of the model.',
      }),
    ),
    response_format: Type.Optional(Type.Enum(['url', 'b64_json'], { default: 'url' })),
    quality: unheard,
    style: unheard,
    watermark: Type.Optional(Type.Boolean({ default: true })),
    output_format: Type.Optional(Type.Enum(['png', 'jpeg'])),
    optimize_prompt_options: Type.Optional(
      Type.Object(
        { mode: Type.Optional(Type.Enum(['standard', 'fast'])) },
        { named: 'PromptOptions', additionalProperties: true },
      ),
    ),
    sequential_image_generation: Type.Optional(
      Type.Enum(['auto', 'disabled'], {
        description: '`auto`: the model may make a group of pictures.',
      }),
    ),
    [OPTIONS]: Type.Optional(
      Type.Object(
        { max_images: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_GROUP })) },
        {
          named: 'GroupOptions',
          additionalProperties: false,
          words: { additionalProperties: 'is not accepted: only `max_images` is' },
        },
      ),
    ),
    user: Type.Optional(Type.Unknown()),
    stream: Type.Optional(
      Type.Boolean({
        description: 'true: server-sent events instead of one answer, where the model supports it.',
      }),
    ),
    tools: Type.Optional(
      Type.Array(
        Type.Unsafe<unknown>({
          check: (tool: unknown) =>
            isSearch(tool) ? undefined : `must be ${JSON.stringify(SEARCH)}`,
          documented: { type: 'object', description: `\`${JSON.stringify(SEARCH)}\`` },
        }),
      ),
    ),
  },
  { named: 'ArtBImage', additionalProperties: true },
)

const known = knownModel(artBModel)

/**
 * Reads an order for an `artB-*` model or refuses it.
 *
 * @throws DomainError `invalid_request` as `readBody` does, `n_not_supported`, `invalid_image_url`
 */
export function readArtBOrder({ kind, model: name, fields }: ImageOrder): ImageRequest {
  const model = known(name)
  const body = readBody(artBBody, { ...fields, model: name })
  acceptCount(body.n)
  const size = body.size === undefined ? undefined : acceptSize(body.size, model)
  const inputs = acceptReferences(body.image, model)
  const { count, searches, group } = acceptGroup(body, model, inputs.length)
  const { watermark = true, optimize_prompt_options, output_format, user } = body
  return {
    kind,
    model: model.name,
    body: {
      ...passedImageMembers(artBBody, fields),
      prompt: body.prompt,
      watermark,
      ...membersGiven<unknown>({ size, output_format, optimize_prompt_options, user }),
      ...group,
      ...(searches ? { tools: [SEARCH] } : {}),
    },
    inputs,
    mask: undefined,
    delivery: body.response_format ?? 'url',
    streamed: body.stream ?? false,
    count,
    facts: {
      inputs: { text: 1, image: inputs.length },
      tools: searches ? ['web_search'] : [],
      settings: {
        n: count,
        layers: inputs.length > 0 ? model.mostLayers : 1,
        ...membersGiven({ size, output_format }),
      },
    },
  }
}

/** One picture, or a group if the request asks for one. */
function acceptCount(n: unknown): void {
  if (typeof n === 'number' && Number.isSafeInteger(n) && n > 1)
    throw new DomainError(
      'n_not_supported',
      '`n` must be 1 with this model: ask for several images by `sequential_image_generation`',
      { param: 'n' },
    )
  if (n !== undefined && n !== 1) refuse('n', '`n` must be 1, or be left out')
}

/**
 * The input pictures: one, or a list; each a public URL or a complete data URI.
 * @throws DomainError naming the picture, `invalid_image_url` with upstream's message, which
 * clients look for
 */
function acceptReferences(
  image: string | readonly string[] | undefined,
  { name, maxReferences }: ArtBModel,
): readonly ImageInput[] {
  const pictures = typeof image === 'string' ? [image] : (image ?? [])
  if (pictures.length > maxReferences)
    return refuse('image', `\`image\` must hold at most ${maxReferences} pictures with ${name}`)
  return pictures.map((url, index) => {
    const param = typeof image === 'string' ? 'image' : `image[${index}]`
    if (isDataUri(url) || isWebUrl(url)) return { from: 'url', url, param }
    throw new DomainError(
      'invalid_image_url',
      `invalid url specified: \`${param}\` must be a public https:// or http:// URL, or a data URI like data:image/png;base64,<payload>`,
      { param },
    )
  })
}

/** Groups of pictures, streams and web search, which only some models have. */
function acceptGroup(
  {
    sequential_image_generation: mode,
    [OPTIONS]: options,
    stream,
    tools = [],
  }: Static<typeof artBBody>,
  { name, makesGroups }: ArtBModel,
  references: number,
) {
  const most = options?.max_images
  const searches = tools.length > 0
  if (!makesGroups) {
    if (mode === 'auto' || most !== undefined)
      refuse('sequential_image_generation', `${name} does not make groups of images`)
    if (stream === true) refuse('stream', `${name} does not stream`)
    if (searches) refuse('tools', `${name} does not search the web`)
  }
  if (mode !== 'auto') return { count: 1, searches, group: {} }
  const room = MAX_GROUP - references
  if ((most ?? 1) > room)
    return refuse(
      `${OPTIONS}.max_images`,
      `\`${OPTIONS}.max_images\` must be at most ${room}: the sent pictures and the group together may be at most ${MAX_GROUP}`,
    )
  const count = most ?? room
  // The number is always set: the hold of the call depends on it.
  return {
    count,
    searches,
    group: { sequential_image_generation: mode, [OPTIONS]: { max_images: count } },
  }
}
