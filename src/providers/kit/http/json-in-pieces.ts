import { Buffer } from 'node:buffer'
import { newUuid } from '../../../kernel/ids.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { BodyInPieces } from './body-in-pieces.ts'

/** Bytes that stand in a JSON text as base64, after a prefix such as that of a data URI. */
export class InBase64 {
  readonly bytes: Uint8Array
  readonly prefix: string

  constructor(bytes: Uint8Array, prefix = '') {
    this.bytes = bytes
    this.prefix = prefix
  }
}

/** A multiple of three: base64 of pieces joined is that of the whole. */
const PIECE_BYTES = 192 * 1024

const base64Length = (bytes: Uint8Array): number => Math.ceil(bytes.length / 3) * 4

/** JSON whose `InBase64` values are written when they are sent, piece by piece. */
export function jsonInPieces(body: JsonObject): BodyInPieces {
  const held: InBase64[] = []
  // Nobody who wrote a text of the body could know it.
  const mark = newUuid()
  const text = JSON.stringify(body, (_name, value: unknown) =>
    value instanceof InBase64 ? `${value.prefix}${mark}${held.push(value) - 1};` : value,
  )
  const texts = text.split(new RegExp(`${mark}\\d+;`)).map((part) => Buffer.from(part))
  const sum = (lengths: readonly number[]): number => lengths.reduce((all, one) => all + one, 0)
  return new BodyInPieces(
    'application/json',
    { [Symbol.iterator]: () => piecesOf(texts, held) },
    sum(texts.map(({ length }) => length)) + sum(held.map(({ bytes }) => base64Length(bytes))),
  )
}

/** Values are met in the order they are written in. */
function* piecesOf(
  texts: readonly Uint8Array[],
  held: readonly InBase64[],
): Generator<Uint8Array, undefined> {
  for (const [index, text] of texts.entries()) {
    yield text
    const { bytes } = held[index] ?? { bytes: new Uint8Array() }
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES)
      const base64 = Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('base64')
      yield Buffer.from(base64, 'latin1')
    }
  }
  return undefined
}
