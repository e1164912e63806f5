import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { RawString } from '../../../kernel/raw-string.ts'
import { newUuid } from '../../../kernel/ids.ts'
import { ServerResponse } from '../../../platform/node-http.ts'
import type { StreamLimits } from './event-stream.ts'
import { owned } from '../../../platform/owned.ts'

/** Placeholder for bytes while JSON is written; random, so no caller can send it. */
const mark = newUuid()
const pattern = new RegExp(`"${mark}(\\d+)"`)

interface JsonInPieces {
  readonly pieces: readonly Uint8Array[]
  /** Texts of the value whose bytes are among the pieces. */
  readonly texts: readonly RawString[]
}

/** JSON of a value with `RawString`s in it, whose bytes are neither read nor copied. */
export function jsonInPieces(value: unknown): JsonInPieces {
  const texts: RawString[] = []
  const json = JSON.stringify(value, (_name, part: unknown) => {
    if (!(part instanceof RawString)) return part
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
  return { pieces, texts }
}

/**
 * A complete body: it is written to the socket in one call. Its bytes are freed once the caller has
 * received them or has disconnected, without waiting for the garbage collector, which would run for
 * every few large answers.
 */
class BodyInPieces extends Readable {
  readonly #json: JsonInPieces

  constructor(json: JsonInPieces) {
    super()
    this.#json = json
  }

  /**
   * Pipes it to the response, which ends this stream when it was sent or the caller disconnected.
   */
  override pipe<Response extends NodeJS.WritableStream>(response: Response): Response {
    if (response instanceof ServerResponse) response.cork()
    for (const piece of this.#json.pieces) response.write(piece)
    response.end()
    return response
  }

  override _read(): void {
    for (const piece of this.#json.pieces) this.push(piece)
    this.push(null)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const text of this.#json.texts) text.free()
    done(error)
  }
}

/**
 * Answers with such a value; its texts must not be read afterwards. A caller who reads nothing for
 * `stallMs` counts as disconnected.
 */
export function sendInPieces(
  reply: FastifyReply,
  value: unknown,
  { stallMs }: Pick<StreamLimits, 'stallMs'>,
): FastifyReply {
  const { raw } = reply
  const json = jsonInPieces(value)
  const lengthBytes = json.pieces.reduce((sum, { length }) => sum + length, 0)
  const leave = (): void => void raw.destroy()
  raw.setTimeout(stallMs, leave)
  // Done first: later requests on the connection must not have this bound.
  raw.prependOnceListener('finish', () => raw.setTimeout(0, leave))
  return reply
    .type('application/json; charset=utf-8')
    .header('content-length', String(lengthBytes))
    .send(owned(new BodyInPieces(json)))
}
