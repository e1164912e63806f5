import type {
  ImageCall,
  ImageEvent,
  ImageFrame,
  ImageItemError,
  ImageTally,
} from '../../../app/image-ports.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { malformed } from '../../kit/http/failures.ts'
import { parseObject, textOf } from '../../kit/http/fields.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import { fromStreamError } from '../../kit/http/refusals.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { failureOf, itemError, readError } from './errors.ts'
import { shownOf } from './shown.ts'
import { artBUsage } from './usage.ts'

const MADE = 'image_generation.partial_succeeded'
const NOT_MADE = 'image_generation.partial_failed'
const WHOLE = 'image_generation.completed'
const DONE = '[DONE]'

/** Follows a stream of pictures, which ends with one frame for all of them. */
export function artBFrameReader(
  { model, count }: ImageCall,
  scrub: Scrubber,
): FrameReader<ImageEvent, ImageTally> {
  let usage: unknown
  let made = 0
  let finished = false
  let over = false
  const errors: ImageItemError[] = []

  const frameOf = (type: string, frame: JsonObject, fields: JsonObject): ImageFrame => {
    const { created, image_index: index } = frame
    const head = { type, model, created, image_index: index }
    return { event: type, data: JSON.stringify({ ...head, ...fields }) }
  }
  const picture = (frame: JsonObject): ImageEvent => {
    const url = textOf(frame['url'])
    const base64 = textOf(frame['b64_json'])
    if (url === undefined && base64 === undefined) throw malformed()
    made += 1
    const shown = shownOf(frame)
    return {
      kind: 'picture',
      item: { picture: base64 === undefined ? { url: url ?? '' } : { base64 }, shown },
      delivered: (fields) => frameOf(MADE, frame, fields),
      lost: (error) => frameOf(NOT_MADE, frame, { error }),
      terminal: made + errors.length >= count,
    }
  }
  const notMade = (frame: JsonObject): ImageEvent => {
    const { error } = frame
    const told = itemError(isJsonObject(error) ? error : {}, scrub)
    errors.push(told)
    const terminal = made + errors.length >= count
    return { kind: 'told', frame: frameOf(NOT_MADE, frame, { error: told }), terminal }
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
      // What is not known may hold a link of upstream's.
      if (type !== WHOLE) return undefined
      ;({ usage } = frame)
      finished = true
      const told = isJsonObject(usage) ? { usage } : {}
      return { kind: 'told', frame: frameOf(WHOLE, frame, told), terminal: true }
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
