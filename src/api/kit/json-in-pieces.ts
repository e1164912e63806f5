import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { AsciiText } from '../../kernel/ascii-text.ts'
import { newUuid } from '../../kernel/ids.ts'

/** What stands for bytes while JSON is written; nobody outside can know it. */
const mark = newUuid()
const pattern = new RegExp(`"${mark}(\\d+)"`)

/** JSON of a value with `AsciiText` in it, whose bytes are neither looked at nor copied. */
export function jsonInPieces(value: unknown): readonly Uint8Array[] {
  const texts: AsciiText[] = []
  const json = JSON.stringify(value, (_name, part: unknown) => {
    if (!(part instanceof AsciiText)) return part
    texts.push(part)
    return `${mark}${texts.length - 1}`
  })
  const pieces: Uint8Array[] = []
  const [head = '', ...rest] = json.split(pattern)
  pieces.push(Buffer.from(head))
  // The pattern's group makes every other part the number of a text.
  for (let at = 0; at < rest.length; at += 2) {
    const text = texts[Number(rest[at])]?.pieces ?? []
    pieces.push(Buffer.from('"'), ...text, Buffer.from(`"${rest[at + 1] ?? ''}`))
  }
  return pieces
}

/** Answers with such a value. */
export function sendInPieces(reply: FastifyReply, value: unknown): FastifyReply {
  const pieces = jsonInPieces(value)
  const lengthBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return reply
    .type('application/json; charset=utf-8')
    .header('content-length', String(lengthBytes))
    .send(Readable.from(pieces))
}
