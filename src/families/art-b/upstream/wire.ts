import type {
  ImageAnswer,
  ImageCall,
  ImageEvent,
  ImageFrame,
  ImageItem,
  ImageItemError,
  ImageTally,
  SentImage,
} from '../../../app/ports/images.ts'
import { IMAGES } from '../../../domain/catalog/image-rules.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { countOf, isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/connections.ts'
import { type Scrubber } from '../../kit/http/scrubber.ts'
import {
  type DottedError,
  dottedError,
  readDottedError,
  statusOfDotted,
} from '../../kit/http/error-bodies.ts'
import { fromStreamError, malformed, type UpstreamError } from '../../kit/http/refusals.ts'
import { countOrZero, objectOf, objectsOf, parseObject, textOf } from '../../kit/http/fields.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import { InBase64, jsonInPieces } from '../../kit/http/json.ts'
import type { ImageWire } from '../../kit/image/client.ts'
import { SEARCHES } from '../rules/pricing.ts'

/**
 * Converts the usage of this wire to counts by unit. Pictures are the received ones, or fewer if
 * upstream reports that it charges fewer. A count that upstream does not report is absent.
 */
function artBUsage(reported: unknown, came: number): Usage {
  const usage = objectOf(reported)
  const charged = countOf(usage['generated_images'])
  const searches = countOf(objectOf(usage['tool_usage'])['web_search'])
  const tokens = countOf(usage['output_tokens'])
  return {
    [IMAGES]: Math.min(came, charged ?? came),
    ...(searches === undefined ? {} : { [SEARCHES]: searches }),
    ...(tokens === undefined ? {} : { 'output-token': tokens }),
  }
}

/**
 * Members that callers see besides a picture: the position of a layer. None is a URL of upstream.
 */
const SHOWN = [
  'size',
  'output_format',
  'z_index',
  'bounding_box',
  'name',
  'description',
  'revised_prompt',
] as const

function shownOf(item: JsonObject): JsonObject {
  return Object.fromEntries(
    SHOWN.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]] as const])),
  )
}

/**
 * Codes such as `InputTextSensitiveContentDetected` and
 * `OutputImageSensitiveContentDetected.PolicyViolation`.
 */
const POLICY = /SensitiveContent|PolicyViolation/

/** The error envelope of this wire; undefined for any other body. */
function readError(body: unknown): UpstreamError | undefined {
  const error = readDottedError(body)
  return (
    error && {
      ...error,
      code: knownCode(error),
      rateLimited: statusOfDotted(error.code) === 429,
      status: statusOfDotted(error.code),
      retryAfterMs: undefined,
    }
  )
}

/** Why one picture of several was not made, as callers see it. */
function itemError(error: JsonObject, scrub: Scrubber): ImageItemError {
  const read = dottedError(error)
  return { code: knownCode(read) ?? 'upstream_error', message: scrub(read.message) }
}

/** Why there is no picture at all, from the errors of each. */
function failureOf(errors: readonly ImageItemError[]): {
  readonly code: 'content_policy_violation' | 'upstream_unavailable'
  readonly message: string
  readonly isBilled: boolean
} {
  const policy = errors.find(({ code }) => code === 'content_policy_violation')
  const message = (policy ?? errors[0])?.message ?? 'The model service made no image.'
  const code = policy === undefined ? 'upstream_unavailable' : 'content_policy_violation'
  return { code, message, isBilled: false }
}

function knownCode({ code }: DottedError): string | undefined {
  return code !== undefined && POLICY.test(code) ? 'content_policy_violation' : code
}

const MADE = 'image_generation.partial_succeeded'
const NOT_MADE = 'image_generation.partial_failed'
const WHOLE = 'image_generation.completed'
const DONE = '[DONE]'

/** The event for callers of one picture. */
function frameOf(
  type: string,
  model: string,
  { created, image_index }: JsonObject,
  fields: JsonObject,
): ImageFrame {
  return { event: type, data: JSON.stringify({ type, model, created, image_index, ...fields }) }
}

/** Follows a stream of pictures, which ends with one frame for all of them. */
function artBFrameReader(
  { model, count }: ImageCall,
  scrub: Scrubber,
): FrameReader<ImageEvent, ImageTally> {
  let usage: unknown
  let made = 0
  let finished = false
  let over = false
  const errors: ImageItemError[] = []

  const picture = (frame: JsonObject): ImageEvent => {
    const url = textOf(frame['url'])
    const base64 = textOf(frame['b64_json'])
    if (url === undefined && base64 === undefined) throw malformed()
    made += 1
    const shown = shownOf(frame)
    return {
      kind: 'picture',
      item: { picture: base64 === undefined ? { url: url ?? '' } : { base64 }, shown },
      delivered: (fields) => frameOf(MADE, model, frame, fields),
      lost: (error) => frameOf(NOT_MADE, model, frame, { error }),
      terminal: made + errors.length >= count,
    }
  }
  const notMade = (frame: JsonObject): ImageEvent => {
    const { error } = frame
    const failure = itemError(isJsonObject(error) ? error : {}, scrub)
    errors.push(failure)
    const terminal = made + errors.length >= count
    return { kind: 'frame', frame: frameOf(NOT_MADE, model, frame, { error: failure }), terminal }
  }

  return {
    read: ({ event, data }) => {
      if (data === DONE) {
        over = true
        return undefined
      }
      const frame = parseObject(data)
      if (frame === undefined) throw malformed()
      const type = textOf(frame['type']) ?? event
      if (type === NOT_MADE) return notMade(frame)
      const error = readError(frame)
      if (error !== undefined) throw fromStreamError(error, scrub)
      if (type === MADE) return picture(frame)
      // An unknown event may hold a URL of upstream.
      if (type !== WHOLE) return undefined
      ;({ usage } = frame)
      finished = true
      const usageMember = isJsonObject(usage) ? { usage } : {}
      return { kind: 'frame', frame: frameOf(WHOLE, model, frame, usageMember), terminal: true }
    },
    tally: () => ({
      usage: artBUsage(usage, made),
      output: {},
      finished,
      failure: finished && made === 0 ? { code: failureOf(errors).code } : undefined,
    }),
    over: () => over,
  }
}

/** `POST /images/generations`, in JSON; pictures come by URL or in base64, as asked. */
export const artBWire: ImageWire = {
  family: 'art-b',
  credentialHeaders: bearerHeaders,
  request: (call) => ({ path: '/images/generations', body: jsonInPieces(requestBody(call)) }),
  readError,
  readAnswer,
  frameReader: artBFrameReader,
}

function requestBody(call: ImageCall): JsonObject {
  const { body, inputs, streamed, delivery, upstreamModel } = call
  const image = inputs.map(reference)
  return {
    ...body,
    model: upstreamModel,
    ...(image.length === 0 ? {} : { image: image.length === 1 ? image[0] : image }),
    // URLs keep frames small, and the gateway fetches each picture separately.
    response_format: streamed ? 'url' : delivery,
    stream: streamed,
  }
}

function reference(picture: SentImage): string | InBase64 {
  return picture.from === 'url'
    ? picture.url
    : new InBase64(picture.bytes, `data:${picture.mediaType};base64,`)
}

function itemOf(item: JsonObject, scrub: Scrubber): readonly ImageItem[] {
  const { error } = item
  if (isJsonObject(error)) return [{ error: itemError(error, scrub) }]
  const base64 = textOf(item['b64_json'])
  const url = textOf(item['url'])
  if (base64 !== undefined) return [{ picture: { base64 }, shown: shownOf(item) }]
  return url === undefined ? [] : [{ picture: { url }, shown: shownOf(item) }]
}

function readAnswer(
  body: JsonObject,
  { model }: ImageCall,
  scrub: Scrubber,
): Omit<ImageAnswer, 'upstreamRequestId' | 'restMs'> | undefined {
  const items = objectsOf(body['data']).flatMap((item) => itemOf(item, scrub))
  const came = items.filter((item) => 'picture' in item).length
  const errors = items.flatMap((item) => ('error' in item ? [item.error] : []))
  const { error, usage } = body
  if (isJsonObject(error)) errors.push(itemError(error, scrub))
  // An answer without pictures and errors is malformed; it must not be delivered or billed (P5). One
  // that only met a limit is a refusal.
  const isRefused = items.length === 0 && readError(body)?.rateLimited === true
  if (isRefused || (came === 0 && errors.length === 0)) return undefined
  return {
    // Both names were seen.
    createdS: countOrZero(body['created'] ?? body['created_at']) || undefined,
    items,
    shown: { model, ...(isJsonObject(usage) ? { usage: objectOf(usage) } : {}) },
    seen: { usage: artBUsage(usage, came), output: {} },
    failure: came === 0 ? failureOf(errors) : undefined,
  }
}
