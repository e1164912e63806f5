import { Buffer } from 'node:buffer'
import type { ImageAnswer, ImageCall, ImageItem, SentImage } from '../../../app/image-ports.ts'
import { IMAGES } from '../../../domain/families/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { BodyInPieces } from '../../kit/http/body-in-pieces.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { countOrZero, objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import { formOf } from '../../kit/http/form.ts'
import { readPlainError } from '../../kit/http/plain-errors.ts'
import type { UpstreamError } from '../../kit/http/refusals.ts'
import type { ImageWire } from '../../kit/image/wire.ts'
import { imageFrameReader, outputOf } from './frames.ts'
import { imageUsage } from './usage.ts'

/** Images API: `POST /images/generations` and `/images/edits`; it always answers with base64. */
export const imageWire: ImageWire = {
  family: 'image',
  credentialHeaders: bearerHeaders,
  request: (call) =>
    call.kind === 'generation'
      ? { path: '/images/generations', body: askedOf(call) }
      : { path: '/images/edits', body: editBody(call) },
  readError,
  readAnswer,
  frameReader: (call, scrub) => imageFrameReader(call, readError, scrub),
}

function askedOf({ body, upstreamModel, streamed }: ImageCall): JsonObject {
  return { ...body, model: upstreamModel, ...(streamed ? { stream: true } : {}) }
}

/** A form while all pictures are at hand; one with a URL is told where they are. */
function editBody(call: ImageCall): JsonObject | BodyInPieces {
  const { inputs, mask } = call
  const body = askedOf(call)
  const pictures = mask === undefined ? inputs : [...inputs, mask]
  if (pictures.every((picture) => picture.from === 'upload'))
    return formOf(
      Object.entries(body).map(([name, value]) => [name, fieldText(value)] as const),
      pictures.map(({ bytes, mediaType }, index) => ({
        name: index === inputs.length ? 'mask' : 'image[]',
        fileName: `image-${index}.${mediaType.slice('image/'.length)}`,
        mediaType,
        bytes,
      })),
    )
  return {
    ...body,
    images: inputs.map(reference),
    ...(mask === undefined ? {} : { mask: reference(mask) }),
  }
}

function fieldText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function reference(picture: SentImage): JsonObject {
  if (picture.from === 'url') return { image_url: picture.url }
  const { mediaType, bytes } = picture
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64')
  return { image_url: `data:${mediaType};base64,${base64}` }
}

/** What upstream's moderation is called, by its own code or by that of a reseller. */
const POLICY_CODES = new Set(['moderation_blocked', 'content_policy_violation', 'contentFilter'])

function readError(body: unknown): UpstreamError | undefined {
  const error = readPlainError(body)
  return error?.code !== undefined && POLICY_CODES.has(error.code)
    ? { ...error, code: 'content_policy_violation' }
    : error
}

function readAnswer(
  body: JsonObject,
): Omit<ImageAnswer, 'upstreamRequestId' | 'restMs'> | undefined {
  const items = objectsOf(body['data']).flatMap(({ b64_json: base64, ...shown }): ImageItem[] => {
    const text = textOf(base64)
    return text === undefined ? [] : [{ picture: { base64: text }, shown }]
  })
  // Without pictures it is no answer; nothing may be delivered or billed for it (P5).
  if (items.length === 0) return undefined
  const { created, data: _data, model: _model, ...shown } = body
  const usage = imageUsage(objectOf(body['usage']))
  return {
    createdS: countOrZero(created) || undefined,
    items,
    shown,
    seen: {
      usage: { [IMAGES]: items.length, ...usage },
      output: outputOf(body),
    },
    failure: undefined,
  }
}
