import { invariant } from '../../../kernel/assert.ts'
import { DomainError } from '../../../kernel/errors.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import {
  asksForNothing,
  optionalChoice,
  optionalInteger,
  refuse,
  text,
  isPresent,
} from '../../../domain/families/checks/fields.ts'
import { acceptPrompt } from '../../../domain/families/checks/image-prompt.ts'
import { parsePixels, type Pixels } from '../../../domain/families/checks/pixels.ts'
import type { ImageOrder, ImageRequest } from '../../../domain/families/image-rules.ts'
import { acceptEditInputs, type EditInputs } from './inputs.ts'
import { DEFAULT_TIER, genModel, type GenModel } from './models.ts'
import { isTier, tierHolding, ratioOfPixels, type Tier, tierOfPixels } from './sizes.ts'

/** All field rules of the `gen-*` models. */

/** Upstream bounds it by tokens; no model of the family reads as much. */
const MAX_PROMPT_LENGTH = 262_144
const MAX_USER_LENGTH = 512
const READ = ['prompt', 'n', 'size', 'aspect_ratio', 'response_format', 'user']
const READ_OF_EDITS: Readonly<Record<ImageOrder['form'], readonly string[]>> = {
  json: ['images', 'image_urls', 'mask'],
  multipart: ['image', 'image[]', 'image_urls', 'image_urls[]', 'mask'],
}
/** In `facts`: the size is that of the base picture, which has not been looked at yet. */
export const INFERRED = 'inferred'

/**
 * Reads an order for a `gen-*` model or refuses it naming the first offending field.
 *
 * @throws RequestError `invalid_request`, DomainError `n_not_supported`, `image_too_large`
 */
export function readGenOrder(order: ImageOrder): ImageRequest {
  const { kind, fields } = order
  const model = genModel(order.model)
  invariant(model, `the family was chosen by its model: ${order.model}`)
  const prompt = acceptPrompt(fields, MAX_PROMPT_LENGTH)
  acceptOne(fields, model)
  const { tier, ratio } = acceptSize(fields, model)
  const delivery = optionalChoice(fields, 'response_format', ['b64_json', 'url']) ?? 'b64_json'
  // Taken and not sent: upstream has no such word.
  if (isPresent(fields, 'user')) text(fields['user'], 'user', MAX_USER_LENGTH)
  refuseOthers(order, model)
  const { inputs, mask } = kind === 'edit' ? acceptEditInputs(order) : noPictures
  const infers = kind === 'edit' && model.infersSize && tier === undefined
  const size = infers ? INFERRED : (tier ?? DEFAULT_TIER)
  const shape = ratio === undefined ? {} : { aspect_ratio: ratio }
  return {
    kind,
    model: model.name,
    body: { prompt, ...(model.tellsSize ? { size } : {}), ...shape },
    inputs,
    mask,
    delivery,
    streamed: false,
    count: 1,
    facts: {
      inputs: { text: 1, image: inputs.length + (mask === undefined ? 0 : 1) },
      tools: [],
      settings: { size, ...shape, prompt_characters: prompt.length },
    },
  }
}

/** The size of an edit that names none, once its base picture is known: the tier that is not smaller. */
export function fitGenBase(request: ImageRequest): ((base: Pixels) => ImageRequest) | undefined {
  if (request.body['size'] !== INFERRED) return undefined
  return (base) => {
    const size = tierHolding(base, genModel(request.model)?.tiers ?? []) ?? DEFAULT_TIER
    return { ...request, body: { ...request.body, size } }
  }
}

const noPictures: EditInputs = { inputs: [], mask: undefined }

function acceptOne(fields: JsonObject, { name }: GenModel): void {
  const n = optionalInteger(fields, 'n', 1, Number.MAX_SAFE_INTEGER) ?? 1
  if (n > 1)
    throw new DomainError('n_not_supported', `\`n\` must be 1 with ${name}`, { param: 'n' })
}

interface Size {
  readonly tier: Tier | undefined
  readonly ratio: string | undefined
}

/** A tier by its name, or pixels that come to one and to an aspect ratio; what is named goes first. */
function acceptSize(fields: JsonObject, model: GenModel): Size {
  const { name, tiers, aspectRatios } = model
  const ratios = ['auto', ...aspectRatios]
  const named = optionalChoice(fields, 'aspect_ratio', ratios, ` with ${name}`)
  const ratio = named === 'auto' ? undefined : named
  const size = isPresent(fields, 'size') ? text(fields['size'], 'size', 32) : 'auto'
  if (size === 'auto') return { tier: undefined, ratio }
  if (isTier(size) && tiers.includes(size)) return { tier: size, ratio }
  const said = `\`size\` must be one of ${[...tiers, 'auto'].join(', ')} or <width>x<height> with ${name}`
  const pixels = parsePixels(size)
  if (pixels === undefined) return refuse('size', said)
  const tier = tierOfPixels(pixels, tiers)
  const found = ratio ?? ratioOfPixels(pixels, aspectRatios)
  if (tier === undefined) return refuse('size', `${said}; ${size} is near none of them`)
  return found === undefined
    ? refuse(
        'size',
        `\`size\` ${size} is near none of the aspect ratios ${aspectRatios.join(', ')}`,
      )
    : { tier, ratio: found }
}

/** What other families know is taken where it asks for nothing; a wish that would go unheard is refused. */
function refuseOthers({ kind, form, fields }: ImageOrder, { name }: GenModel): void {
  const known = kind === 'edit' ? [...READ, ...READ_OF_EDITS[form]] : READ
  for (const [member, value] of Object.entries(fields)) {
    if (known.includes(member) || asksForNothing(member, value)) continue
    const isOfEdits = kind !== 'edit' && Object.values(READ_OF_EDITS).flat().includes(member)
    refuse(
      member,
      isOfEdits
        ? `\`${member}\` is taken by /v1/images/edits alone with this model`
        : `\`${member}\` is not taken by ${name}, which takes ${['model', ...known].join(', ')}`,
    )
  }
}
