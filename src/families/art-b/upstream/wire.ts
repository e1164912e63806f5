import type { ImageAnswer, ImageCall, ImageItem, SentImage } from '../../../app/image-ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { bearerHeaders } from '../../kit/http/credential.ts'
import { countOrZero, objectOf, objectsOf, textOf } from '../../kit/http/fields.ts'
import { InBase64, jsonInPieces } from '../../kit/http/json-in-pieces.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import type { ImageWire } from '../../kit/image/wire.ts'
import { failureOf, itemError, readError } from './errors.ts'
import { artBFrameReader } from './frames.ts'
import { shownOf } from './shown.ts'
import { artBUsage } from './usage.ts'

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
    // By URL frames stay small whatever is made, and each picture is fetched by itself.
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
  // Neither pictures nor a word on why: no answer; nothing may be delivered or billed for it (P5).
  if (came === 0 && errors.length === 0) return undefined
  return {
    // Both names were seen.
    createdS: countOrZero(body['created'] ?? body['created_at']) || undefined,
    items,
    shown: { model, ...(isJsonObject(usage) ? { usage: objectOf(usage) } : {}) },
    seen: { usage: artBUsage(usage, came), output: {} },
    failure: came === 0 ? failureOf(errors) : undefined,
  }
}
