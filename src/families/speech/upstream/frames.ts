import type { SpeechChunk, SpeechTally } from '../../../app/speech-ports.ts'
import { isHex, looksLikeHex } from '../../../kernel/hex.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { malformed } from '../../kit/http/failures.ts'
import { objectOf, parseObject, textOf } from '../../kit/http/fields.ts'
import type { FrameReader } from '../../kit/http/frame-stream.ts'
import type { Scrubber } from '../../kit/http/scrub.ts'
import { seenOf, shownOf } from './answer.ts'
import { refusalInStream } from './errors.ts'

/** `data.status` of the piece that says that all is there; it repeats what was there before. */
const WHOLE = 2
const SUCCESS = { status_code: 0, status_msg: 'success' }

/** Follows a stream of speech: as JSON, or as the audio alone. */
export function speechFrameReader(
  scrub: Scrubber,
  { form, requestId }: { readonly form: 'json' | 'audio'; readonly requestId: string },
): FrameReader<SpeechChunk, SpeechTally> {
  let usage: SpeechTally['usage'] = {}
  let finished = false
  let begun = false
  /** Audio alone says nothing of its end: the last of it is held back until the end is known. */
  let held: string | undefined

  // Audio alone is decoded here, where a wrong digit would end it in silence; JSON the callers decode.
  const isSound = form === 'audio' ? isHex : looksLikeHex
  const asJson = (frame: JsonObject, audio: string | undefined, status: number): SpeechChunk => ({
    data: JSON.stringify({
      data: { audio: audio ?? '', status },
      ...shownOf(frame),
      trace_id: requestId,
      base_resp: SUCCESS,
    }),
    terminal: status === WHOLE,
  })
  const asAudio = (audio: string | undefined, isLast: boolean): SpeechChunk | undefined => {
    const before = held
    held = isLast ? undefined : audio
    // The whole once more is only new where nothing of it came before.
    if (isLast) return { data: before ?? audio ?? '', terminal: true }
    return before === undefined ? undefined : { data: before, terminal: false }
  }

  return {
    read: ({ data }) => {
      const frame = parseObject(data)
      if (frame === undefined) throw malformed()
      const refused = refusalInStream(frame, begun, scrub)
      if (refused !== undefined) throw refused
      const piece = objectOf(frame['data'])
      const audio = textOf(piece['audio'])
      const isLast = piece['status'] === WHOLE
      if (audio === undefined && !isLast) return undefined
      if (audio !== undefined && !isSound(audio)) throw malformed()
      if (isLast) {
        if (audio === undefined && !begun) throw malformed()
        ;({ usage } = seenOf(frame))
        finished = true
      }
      begun = true
      return form === 'json' ? asJson(frame, audio, isLast ? WHOLE : 1) : asAudio(audio, isLast)
    },
    tally: () => ({ usage, finished, failure: undefined }),
    over: () => finished,
  }
}
