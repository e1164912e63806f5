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

export interface FrameSplitter {
  /** Frames that are complete with this text. @throws FrameTooLargeError */
  readonly feed: (text: string) => readonly Frame[]
  /** What stands unfinished at the end: perhaps a frame without its blank line, perhaps half of one. */
  readonly end: () => Frame | undefined
}

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Splits at LF, CR and CRLF as the standard says. Written here because every character is looked at
 * once, however large a frame and however many pieces it comes in, and because a line that begins
 * with `{` where a field should stand is kept: some upstreams write their error as a bare object.
 *
 * @param maxFrameLength in UTF-16 units
 */
export function createFrameSplitter(maxFrameLength: number): FrameSplitter {
  /** The beginning of a line whose end has not come. */
  let pieces: string[] = []
  let event: string | undefined
  let data: string | undefined
  let bare = false
  let frameLength = 0
  let skipLineFeed = false
  let started = false

  const grow = (length: number): void => {
    frameLength += length
    if (frameLength > maxFrameLength) throw new FrameTooLargeError('a frame is too large')
  }
  const take = (): Frame | undefined => {
    const frame = data === undefined ? undefined : { event, data }
    event = undefined
    data = undefined
    bare = false
    frameLength = 0
    return frame
  }
  const line = (text: string): void => {
    if (bare || (data === undefined && text.startsWith('{'))) {
      bare = true
      data = data === undefined ? text : `${data}\n${text}`
      return
    }
    const colon = text.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`
    else if (field === 'event') event = value === '' ? undefined : value
  }
  const endLine = (text: string): Frame | undefined => {
    let whole = text
    if (pieces.length > 0) {
      whole = pieces.join('') + text
      pieces = []
    }
    if (whole === '') return take()
    line(whole)
    return undefined
  }

  return {
    feed: (text) => {
      if (text === '') return []
      let at = 0
      if (!started) {
        started = true
        if (text.startsWith(BYTE_ORDER_MARK)) at = 1
      }
      if (skipLineFeed && text[at] === '\n') at += 1
      skipLineFeed = false
      const frames: Frame[] = []
      let cr = text.indexOf('\r', at)
      let lf = text.indexOf('\n', at)
      while (cr !== -1 || lf !== -1) {
        const byCr = cr !== -1 && (lf === -1 || cr < lf)
        const end = byCr ? cr : lf
        grow(end - at)
        const frame = endLine(text.slice(at, end))
        if (frame !== undefined) frames.push(frame)
        at = end + 1
        // A CR ends the line at once; the LF that may follow it belongs to it.
        if (byCr && at === text.length) skipLineFeed = true
        else if (byCr && text[at] === '\n') at += 1
        if (cr !== -1 && cr < at) cr = text.indexOf('\r', at)
        if (lf !== -1 && lf < at) lf = text.indexOf('\n', at)
      }
      if (at < text.length) {
        grow(text.length - at)
        pieces.push(text.slice(at))
      }
      return frames
    },
    end: () => {
      if (pieces.length > 0) endLine('')
      return take()
    },
  }
}
