import { Buffer } from 'node:buffer'
import type { Channel } from '../../../app/ports/provider.ts'
import { RawString } from '../../../kernel/raw-string.ts'
import { newUuid } from '../../../kernel/ids.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { JsonParts } from '../../../kernel/json-text.ts'
import { type ParsedJson, parseJsonKeepingRaw } from '../../../kernel/long-strings.ts'
import { inTurns } from '../../../kernel/turns.ts'
import { isLargeJson, writeJson } from '../../../kernel/write-json.ts'
import type { SentBody } from './kept-connections.ts'
import { malformed } from './refusals.ts'

/** Bytes that are written into JSON as base64, after a prefix such as that of a data URI. */
export class InBase64 {
  readonly bytes: Uint8Array
  readonly prefix: string

  constructor(bytes: Uint8Array, prefix = '') {
    this.bytes = bytes
    this.prefix = prefix
  }
}

/** A multiple of three, so that the base64 of the pieces joins to the base64 of the whole. */
const PIECE_BYTES = 192 * 1024

/** Characters of JSON that are encoded in one step. */
const SENT_CHARACTERS = 64 * 1024

const base64Length = (bytes: Uint8Array): number => Math.ceil(bytes.length / 3) * 4

type Held = InBase64 | RawString

const heldLength = (value: Held): number =>
  value instanceof RawString ? value.length : base64Length(value.bytes)

/** JSON whose `InBase64` and `RawString` values are written when they are sent, piece by piece. */
export function jsonInPieces(body: JsonObject): BodyInPieces {
  const held: Held[] = []
  // A random mark cannot occur in the texts of the body.
  const mark = newUuid()
  const hold = (value: Held): string => `${mark}${held.push(value) - 1};`
  const text = JSON.stringify(body, (_name, value: unknown) => {
    if (value instanceof RawString) return hold(value)
    return value instanceof InBase64 ? `${value.prefix}${hold(value)}` : value
  })
  const texts = text.split(new RegExp(`${mark}\\d+;`)).map((part) => Buffer.from(part))
  const sum = (lengths: readonly number[]): number => lengths.reduce((all, one) => all + one, 0)
  return new BodyInPieces(
    'application/json',
    { [Symbol.iterator]: () => piecesOf(texts, held) },
    sum(texts.map(({ length }) => length)) + sum(held.map(heldLength)),
  )
}

/** A body and its headers; a body with media is sent in pieces. */
export function sentJson(body: JsonObject | BodyInPieces): {
  readonly headers: Readonly<Record<string, string>>
  readonly body: SentBody
} {
  if (!(body instanceof BodyInPieces))
    return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return {
    headers: { 'content-type': body.contentType, 'content-length': String(body.lengthBytes) },
    body: body.pieces,
  }
}

/** Does as `sentJson`; the JSON of a large body is written in turns with other work, or while it is sent. */
export async function sentInTurns(
  body: JsonObject | BodyInPieces | JsonParts,
): Promise<ReturnType<typeof sentJson>> {
  if (body instanceof JsonParts) return sentParts(body)
  if (body instanceof BodyInPieces || !isLargeJson(body)) return sentJson(body)
  const pieces: Buffer[] = []
  let parts = ''
  const flush = (): void => {
    pieces.push(Buffer.from(parts))
    parts = ''
  }
  await inTurns(
    writeJson(body, (part) => {
      parts += part
      if (parts.length > SENT_CHARACTERS) flush()
    }),
  )
  flush()
  const lengthBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return sentJson(new BodyInPieces('application/json', pieces, lengthBytes))
}

function sentParts({ parts, lengthBytes }: JsonParts): ReturnType<typeof sentJson> {
  const contentType = 'application/json'
  if (lengthBytes <= SENT_CHARACTERS)
    return { headers: { 'content-type': contentType }, body: parts.join('') }
  const pieces = { [Symbol.iterator]: () => encoded(parts) }
  return sentJson(new BodyInPieces(contentType, pieces, lengthBytes))
}

/** The UTF-8 of texts, piece by piece. */
function* encoded(texts: readonly string[]): Generator<Uint8Array, void> {
  for (const text of texts)
    for (let at = 0; at < text.length;) {
      const end = at + SENT_CHARACTERS
      // A pair of surrogates is encoded whole.
      const piece = text.slice(at, /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end)
      yield Buffer.from(piece)
      at += piece.length
    }
}

function* cut(bytes: Uint8Array): Generator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES)
    yield bytes.subarray(start, start + PIECE_BYTES)
}

/** `JSON.stringify` visits values in the order in which it writes them. */
function* piecesOf(
  texts: readonly Uint8Array[],
  held: readonly Held[],
): Generator<Uint8Array, undefined> {
  for (const [index, text] of texts.entries()) {
    yield text
    const value = held[index]
    if (value === undefined) continue
    if (value instanceof RawString) {
      for (const piece of value.pieces) yield* cut(piece)
      continue
    }
    for (const piece of cut(value.bytes)) {
      const base64 = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('base64')
      yield Buffer.from(base64, 'latin1')
    }
  }
  return undefined
}

/** A body that is never joined: its large values are not copied. */
export class BodyInPieces {
  readonly contentType: string
  /** Gone through once for each request that is sent. */
  readonly pieces: Iterable<Uint8Array>
  readonly lengthBytes: number

  constructor(contentType: string, pieces: Iterable<Uint8Array>, lengthBytes: number) {
    this.contentType = contentType
    this.pieces = pieces
    this.lengthBytes = lengthBytes
  }
}

/**
 * Strings whole, then numbers: so that digits inside strings are never touched. A string without an
 * end goes to the end of the text: otherwise each quote in it would begin another search for its end.
 */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.?[^"\\]*)*(?:"|$)|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs
const SHORTEST_UNSAFE_DIGITS = 16

/**
 * Parses JSON without losing digits: an integer beyond 2^53 comes back as the string of its
 * digits. @throws SyntaxError
 */
export function parseLossless(text: string): unknown {
  const quoted = text.replace(STRING_OR_NUMBER, (token) =>
    token.length >= SHORTEST_UNSAFE_DIGITS &&
    /^-?\d+$/.test(token) &&
    !Number.isSafeInteger(Number(token))
      ? `"${token}"`
      : token,
  )
  return JSON.parse(quoted)
}

/** Answers that are mostly one long string: a picture or a piece of audio. */

/** The string stays raw. @throws ProviderError */
export function parseMedia(body: readonly Buffer[]): ParsedJson {
  try {
    return parseJsonKeepingRaw(body)
  } catch (error) {
    throw malformed(error)
  }
}

/**
 * An upstream may send the head of a stream only with its first content, which may take as long as
 * a whole answer.
 */
export function mediaPatience({ timeoutMs }: Channel) {
  return { firstByteTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }
}
