import { Buffer } from 'node:buffer'
import type {
  ImageAnswer,
  ImageCall,
  ImageEvent,
  ImageItem,
  ImageStream,
  ImageTally,
  SentImage,
} from '../../../app/ports/images.ts'
import { IMAGES, type ImageSeen } from '../../../domain/catalog/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { BodyInPieces } from '../../kit/http/json.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import { fromStreamError, malformed, type UpstreamError } from '../../kit/http/refusals.ts'
import {
  countOrZero,
  isGiven,
  objectOf,
  objectsOf,
  parseObject,
  textOf,
} from '../../kit/http/fields.ts'
import { formOf } from '../../kit/http/form.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import { readPlainError } from '../../kit/http/error-bodies.ts'
import type { ImageWire } from '../../kit/image/client.ts'
import { imageModel } from '../rules/models.ts'
import type { ImageTokenUnit } from '../rules/pricing.ts'

/**
 * Converts usage of the Images API to counts by unit: tokens that were read from a cache are not
 * also counted as input. Where upstream reports only the sum of cached tokens, it counts as
 * pictures first, which is to the caller's advantage. Undefined members: missing or invalid
 * figures.
 */
export function imageUsage(usage: JsonObject): Readonly<Partial<Record<ImageTokenUnit, number>>> {
  const details = objectOf(usage['input_tokens_details'])
  const input = count(usage['input_tokens'])
  const output = count(usage['output_tokens'])
  const text = countOrZero(details['text_tokens'])
  const image = countOrZero(details['image_tokens'])
  if (input === undefined || output === undefined) return {}
  if (text === undefined || image === undefined || text + image > input) return {}
  const cached = cachedTokens(details, text, image)
  // Tokens that belong to neither count as text, which costs less.
  const plainText = input - image
  return {
    'text-input': plainText - cached.text,
    'cached-text-input': cached.text,
    'image-input': image - cached.image,
    'cached-image-input': cached.image,
    'image-output': output,
  }
}

function count(value: unknown): number | undefined {
  return isGiven(value) ? countOrZero(value) : undefined
}

function cachedTokens(details: JsonObject, text: number, image: number) {
  const { image_tokens: images, text_tokens: texts } = objectOf(details['cached_tokens_details'])
  const all = countOrZero(details['cached_tokens']) ?? 0
  const given = (value: unknown, most: number, otherwise: number): number =>
    Math.min(most, isGiven(value) ? (countOrZero(value) ?? 0) : Math.max(0, otherwise))
  const ofImages = given(images, image, all - given(texts, text, 0))
  return { image: ofImages, text: given(texts, text, all - ofImages) }
}

const DONE = '[DONE]'

const eventsOf = (kind: ImageCall['kind']): string =>
  kind === 'edit' ? 'image_edit' : 'image_generation'

/** The last event of a stream: the picture with its usage. */
function completedEvent(
  kind: ImageCall['kind'],
  base64: string,
  shown: JsonObject,
  usage: unknown,
): ImageEvent {
  const event = `${eventsOf(kind)}.completed`
  const frameWith = (fields: JsonObject) => ({
    event,
    data: JSON.stringify({ type: event, ...fields, usage }),
  })
  return {
    kind: 'picture',
    item: { picture: { base64 }, shown },
    delivered: frameWith,
    lost: (error) => frameWith({ ...shown, error }),
    terminal: true,
  }
}

function isStreamedUpstream({ model, streamed }: ImageCall): boolean {
  return streamed && imageModel(model)?.hasUpstreamEvents === true
}

/**
 * The stream of a call that upstream answers as a whole: the last event alone. Further pictures than
 * the one that was asked for are left out.
 */
function streamOfWhole(
  { kind }: ImageCall,
  { items, shown: ofAll, createdS, seen, upstreamRequestId, restMs }: ImageAnswer,
): ImageStream {
  const made = items.find((item) => 'picture' in item)
  if (made === undefined || !('base64' in made.picture)) throw malformed()
  const { usage, ...shown } = ofAll
  const base64 = String(made.picture.base64)
  const fields = { ...made.shown, created_at: createdS, ...shown }
  const events = [completedEvent(kind, base64, fields, usage)]
  return {
    upstreamRequestId,
    restMs,
    read: () => Promise.resolve(events.length === 0 ? undefined : events.splice(0)),
    tally: () => ({
      ...seen,
      usage: { ...seen.usage, [IMAGES]: 1 },
      finished: true,
      failure: undefined,
    }),
    receivedBytes: () => 0,
    endedBy: () => undefined,
    cancel: () => undefined,
  }
}

/** Follows a stream of one picture: previews of it, then the picture with its usage. */
function imageFrameReader(
  { kind }: ImageCall,
  readError: (body: unknown) => UpstreamError | undefined,
  scrub: Scrubber,
): FrameReader<ImageEvent, ImageTally> {
  const events = eventsOf(kind)
  let seen: ImageSeen = { usage: {}, output: {} }
  let finished = false
  let over = false

  const whole = (frame: JsonObject): ImageEvent => {
    const { b64_json, type: _type, usage, ...shown } = frame
    // The figures count also where the picture is too large to be delivered.
    seen = { usage: { [IMAGES]: 1, ...imageUsage(objectOf(usage)) }, output: outputOf(shown) }
    const base64 = textOf(b64_json)
    if (base64 === undefined) throw malformed()
    finished = true
    return completedEvent(kind, base64, shown, usage)
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) {
        over = true
        return undefined
      }
      const frame = parseObject(data)
      if (frame === undefined) throw malformed()
      const error = readError(frame)
      if (error !== undefined) throw fromStreamError(error, scrub)
      const type = textOf(frame['type']) ?? event ?? ''
      if (type === `${events}.completed`) return whole(frame)
      return type === `${events}.partial_image`
        ? { kind: 'frame', frame: { event: type, data }, terminal: false }
        : undefined
    },
    tally: () => ({ ...seen, finished, failure: undefined }),
    over: () => over,
  }
}

/** The actual specs according to the answer. */
function outputOf({ quality, size }: JsonObject): ImageSeen['output'] {
  return {
    ...(typeof quality === 'string' ? { quality } : {}),
    ...(typeof size === 'string' ? { size } : {}),
  }
}

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
  streamOfWhole: (call) =>
    isStreamedUpstream(call) ? undefined : (answer) => streamOfWhole(call, answer),
}

function askedOf(call: ImageCall): JsonObject {
  const { body, upstreamModel } = call
  return { ...body, model: upstreamModel, ...(isStreamedUpstream(call) ? { stream: true } : {}) }
}

/** A form when all pictures are bytes; JSON when one of them is a URL. */
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

/** The codes of moderation: upstream's and those of resellers. */
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
  // An answer without pictures is malformed; it must not be delivered or billed (P5).
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
