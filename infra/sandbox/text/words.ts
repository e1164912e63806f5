/** Some beyond ASCII, so that frames and pieces of frames are cut within characters. */
const WORDS = (
  'the sandbox answers with words that follow from nothing but their number and the length of ' +
  'what was said to it – naïve, plain and the same each time ☀ so that a test may count them'
).split(' ')

const DEFAULT_WORDS = 16
const MAX_WORDS = 200_000
const MAX_REMEMBERED = 500
const MAX_REMEMBERED_WORDS = 1000

/** A text and the pieces a stream tells it in. */
export interface Told {
  readonly text: string
  readonly pieces: readonly string[]
}

export const NOTHING_TOLD: Told = { text: '', pieces: [] }

const remembered = new Map<string, Told>()

/** So many words, the first one chosen by `offset`; the same each time. */
export function wordsOf(count: number | null, offset: number): Told {
  const words = Math.min(count ?? DEFAULT_WORDS, MAX_WORDS)
  const start = offset % WORDS.length
  const key = `${words}.${start}`
  const known = remembered.get(key)
  if (known !== undefined) return known
  const pieces = Array.from({ length: words }, (_, i) => {
    const word = WORDS[(start + i) % WORDS.length] ?? ''
    return i === 0 ? word : ` ${word}`
  })
  const told: Told = { text: pieces.join(''), pieces }
  if (remembered.size < MAX_REMEMBERED && words <= MAX_REMEMBERED_WORDS) remembered.set(key, told)
  return told
}

/** A text in pieces of `size` characters, surrogate pairs kept whole. */
export function inPieces(text: string, size: number): Told {
  const points = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < points.length; at += size) pieces.push(points.slice(at, at + size).join(''))
  return { text, pieces }
}

/** The longest beginning of at most so many tokens; the same object when nothing is lost. */
export function cutTo(told: Told, maxTokens: number): Told {
  const bytes = Buffer.from(told.text)
  const limit = maxTokens * 4
  if (bytes.length <= limit) return told
  let end = limit
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  const text = bytes.subarray(0, end).toString('utf8')
  const pieces: string[] = []
  let left = text.length
  for (const piece of told.pieces) {
    if (left <= 0) break
    pieces.push(piece.slice(0, left))
    left -= piece.length
  }
  return { text, pieces }
}
