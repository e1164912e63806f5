import type { ImageCall, ImageEvent, ImageTally } from '../../../app/image-ports.ts'
import { IMAGES, type ImageSeen } from '../../../domain/families/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { malformed } from '../../kit/http/failures.ts'
import { objectOf, parseObject, textOf } from '../../kit/http/fields.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import { fromStreamError, type UpstreamError } from '../../kit/http/refusals.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { imageUsage } from './usage.ts'

const DONE = '[DONE]'

/** Follows a stream of one picture: previews of it, then the picture with its usage. */
export function imageFrameReader(
  { kind }: ImageCall,
  readError: (body: unknown) => UpstreamError | undefined,
  scrub: Scrubber,
): FrameReader<ImageEvent, ImageTally> {
  const events = kind === 'edit' ? 'image_edit' : 'image_generation'
  let seen: ImageSeen = { usage: {}, output: {} }
  let finished = false
  let over = false

  const whole = (event: string, frame: JsonObject): ImageEvent => {
    const { b64_json, type: _type, usage, ...shown } = frame
    const base64 = textOf(b64_json)
    if (base64 === undefined) throw malformed()
    finished = true
    seen = { usage: { [IMAGES]: 1, ...imageUsage(objectOf(usage)) }, output: outputOf(shown) }
    const told = (fields: JsonObject) => ({
      event,
      data: JSON.stringify({ type: event, ...fields, usage }),
    })
    return {
      kind: 'picture',
      item: { picture: { base64 }, shown },
      delivered: told,
      lost: (error) => told({ ...shown, error }),
      terminal: true,
    }
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
      if (type === `${events}.completed`) return whole(type, frame)
      return type === `${events}.partial_image`
        ? { kind: 'told', frame: { event: type, data }, terminal: false }
        : undefined
    },
    tally: () => ({ ...seen, finished, failure: undefined }),
    over: () => over,
  }
}

/** What was really made, as the answer says. */
export function outputOf({ quality, size }: JsonObject): ImageSeen['output'] {
  return {
    ...(typeof quality === 'string' ? { quality } : {}),
    ...(typeof size === 'string' ? { size } : {}),
  }
}
