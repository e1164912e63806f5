import { createParser } from 'eventsource-parser'

/** Server-sent events out of pieces of text, however they are cut. */

export interface Frame {
  /** The `event` field, undefined when there was none. */
  readonly event: string | undefined
  /** The `data` lines, joined by line feeds. */
  readonly data: string
}

/** A frame grew beyond its bound. */
export class FrameTooLargeError extends Error {
  override readonly name = 'FrameTooLargeError'
}

export interface FrameParser {
  /** Frames that are complete with this text. @throws FrameTooLargeError */
  readonly feed: (text: string) => readonly Frame[]
  /** What stands unfinished at the end: perhaps a frame without its blank line, perhaps half of one. */
  readonly end: () => Frame | undefined
}

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Frames as the standard splits them. A line that begins with `{` where a field should stand is kept:
 * some upstreams write their error as a bare object.
 *
 * @param maxFrameLength in UTF-16 units
 */
export function createFrameParser(maxFrameLength: number): FrameParser {
  let frames: Frame[] = []
  let bare: string | undefined
  /** What the next text is to be read without, if it begins with it. */
  let unread = BYTE_ORDER_MARK
  let tooLarge = false

  const takeBare = (): void => {
    if (bare !== undefined) frames.push({ event: undefined, data: bare })
    bare = undefined
  }
  const keepBare = (line: string): void => {
    if (bare === undefined && !line.startsWith('{')) return
    const ends = bare === undefined ? line.endsWith('}') : line === '}'
    bare = bare === undefined ? line : `${bare}\n${line}`
    tooLarge ||= bare.length > maxFrameLength
    // The parser does not tell of blank lines: the object itself says where it ends.
    if (ends) takeBare()
  }
  const parser = createParser({
    maxBufferSize: maxFrameLength,
    onEvent: ({ event, data }) => {
      takeBare()
      frames.push({ event, data })
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
      else if (error.line !== undefined) keepBare(error.line)
    },
  })
  const feed = (text: string): readonly Frame[] => {
    parser.feed(text)
    if (tooLarge) throw new FrameTooLargeError('a frame is too large')
    const complete = frames
    frames = []
    return complete
  }

  return {
    feed: (text) => {
      if (text === '') return []
      const from = text.startsWith(unread) ? unread.length : 0
      // The parser waits for what may follow a last CR; the frame that it ends is complete without.
      unread = text.endsWith('\r') ? '\n' : ''
      return feed(text.slice(from) + unread)
    },
    end: () => {
      const rest = feed('\n\n')
      takeBare()
      return rest[0] ?? frames.shift()
    },
  }
}
