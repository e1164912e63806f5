import { createParser } from 'eventsource-parser'

/** Server-sent events out of pieces of text, however they are cut. */

export interface Frame {
  /** The `event` field, undefined when there was none. */
  readonly event: string | undefined
  /** The `data` lines, joined by line feeds. */
  readonly data: string
  /** Whether the frame was larger than its bound: its long strings are empty. */
  readonly isCut?: true
}

/** The stream passed a bound of the gateway. */
export class BoundError extends Error {
  override readonly name = 'BoundError'
  readonly bound: 'frame' | 'length'

  constructor(bound: 'frame' | 'length') {
    super(`the stream passed the bound on its ${bound}`)
    this.bound = bound
  }
}

/** UTF-16 units of the longest string that is kept in a frame beyond its bound. */
const LONGEST_KEPT = 32 * 1024

/** Empties the long strings of a line of JSON that arrives in pieces. */
class StringCutter {
  /** The rest of the line. */
  text = ''
  /** The open string so far, with its escapes; undefined outside of any. */
  #string: string | undefined
  /** The open string is too long to keep. */
  #dropped = false
  /** The last unit of the open string escapes the next one. */
  #escaping = false

  feed(piece: string): void {
    let at = 0
    while (at < piece.length) {
      if (this.#string === undefined) {
        const open = piece.indexOf('"', at)
        this.text += open === -1 ? piece.slice(at) : piece.slice(at, open + 1)
        if (open === -1) return
        at = open + 1
        this.#string = ''
        this.#dropped = false
      }
      const close = this.#closeOf(piece, at)
      const end = close === -1 ? piece.length : close
      this.#dropped ||= this.#string.length + end - at > LONGEST_KEPT
      this.#string = this.#dropped ? '' : this.#string + piece.slice(at, end)
      if (close === -1) return
      this.text += `${this.#string}"`
      this.#string = undefined
      at = close + 1
    }
  }

  /** Index at which the open string closes; -1 if not in this piece. */
  #closeOf(piece: string, from: number): number {
    for (let start = from; ;) {
      const quote = piece.indexOf('"', start)
      const end = quote === -1 ? piece.length : quote
      let at = end
      while (at > start && piece.charCodeAt(at - 1) === BACKSLASH) at -= 1
      // Backslashes that go on from the piece before count with that one's last.
      const carried = at === from && this.#escaping ? 1 : 0
      const isEscaped = (end - at + carried) % 2 === 1
      if (quote === -1) {
        this.#escaping = isEscaped
        return -1
      }
      if (!isEscaped) {
        this.#escaping = false
        return quote
      }
      start = quote + 1
    }
  }
}

const BACKSLASH = 0x5c

export interface FrameParser {
  /** Frames that are complete with this text. @throws BoundError */
  readonly feed: (text: string) => readonly Frame[]
  /** The unfinished rest at the end: a frame without its blank line, or a part of a frame. */
  readonly end: () => Frame | undefined
}

const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Frames as the standard splits them. A line that begins with `{` instead of a field is kept: some
 * upstreams write their error as a bare object. The long strings of a line beyond the bound are
 * skipped, so that the rest of it can be read.
 *
 * @param maxFrameLength in UTF-16 units
 */
export function createFrameParser(maxFrameLength: number): FrameParser {
  let frames: Frame[] = []
  let bare: string | undefined
  /** The prefix to remove from the next text, if it begins with it. */
  let unread = BYTE_ORDER_MARK
  let tooLarge = false
  const line = new BegunLine(maxFrameLength)
  /** A line of the frame that is being read was cut. */
  let isCut = false

  const takeBare = (): void => {
    if (bare !== undefined) frames.push({ event: undefined, data: bare })
    bare = undefined
  }
  const keepBare = (line: string): void => {
    if (bare === undefined && !line.startsWith('{')) return
    const ends = bare === undefined ? line.endsWith('}') : line === '}'
    bare = bare === undefined ? line : `${bare}\n${line}`
    tooLarge ||= bare.length > maxFrameLength
    // The parser does not report blank lines, so the end of the object ends it.
    if (ends) takeBare()
  }
  const parser = createParser({
    maxBufferSize: maxFrameLength,
    onEvent: ({ event, data }) => {
      takeBare()
      frames.push(isCut ? { event, data, isCut } : { event, data })
      isCut = false
    },
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
      else if (error.line !== undefined) keepBare(error.line)
    },
  })
  const feed = (text: string): readonly Frame[] => {
    const lineFeed = text.lastIndexOf('\n')
    const last = lineFeed === -1 ? text.lastIndexOf('\r') : lineFeed
    // Only the first line of the text may be the rest of one that has begun.
    const first = last === -1 || line.length === 0 ? 0 : endOfLine(text)
    if (first > 0) {
      const whole = line.complete(text.slice(0, first))
      isCut ||= whole.isCut
      parser.feed(whole.text)
    }
    if (first <= last) parser.feed(text.slice(first, last + 1))
    if (last + 1 < text.length) line.add(text.slice(last + 1))
    if (tooLarge || line.isTooLong) throw new BoundError('frame')
    const complete = frames
    frames = []
    return complete
  }

  return {
    feed: (text) => {
      if (text === '') return []
      const from = text.startsWith(unread) ? unread.length : 0
      // After a last CR the parser waits for an LF; the frame that the CR ends is complete without
      // it.
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

/** A line whose end has not come. Beyond its bound it is kept without its long strings. */
class BegunLine {
  length = 0
  /** Whether the frame is beyond its bound even without its long strings. */
  isTooLong = false
  #pieces: string[] = []
  #cutter: StringCutter | undefined
  readonly #maxLength: number

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  add(text: string): void {
    this.length += text.length
    if (this.#cutter === undefined) this.#pieces.push(text)
    else this.#cutter.feed(text)
    if (this.length <= this.#maxLength) return
    if (this.#cutter === undefined) {
      this.#cutter = new StringCutter()
      for (const piece of this.#pieces) this.#cutter.feed(piece)
      this.#pieces = []
    }
    this.isTooLong ||= this.#cutter.text.length > this.#maxLength
  }

  /** The line, whose last piece this is. */
  complete(text: string): { readonly text: string; readonly isCut: boolean } {
    this.add(text)
    const isCut = this.#cutter !== undefined
    const whole = this.#cutter?.text ?? this.#pieces.join('')
    this.#cutter = undefined
    this.#pieces = []
    this.length = 0
    return { text: whole, isCut }
  }
}

/** The index after the first line break. */
function endOfLine(text: string): number {
  const [ended] = /^[^\r\n]*\r?\n?/.exec(text) ?? ['']
  return ended.length
}
