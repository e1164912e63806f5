import { Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { owned } from '../../../platform/owned.ts'
import { isForm, MEMORY_PER_BYTE } from './body-budget.ts'
import { bytesInWords, RequestError } from '../request-error.ts'

/** Bodies that their callers have compressed, as some agents do with long conversations. */

const PIECE_BYTES = 64 * 1024
/** RFC 9659: no body in zstd needs a larger window. Power of two. */
const ZSTD_WINDOW_LOG = 23
/** `ZSTD_d_windowLogMax` of the library, which the types of Node 20 lack. */
const ZSTD_WINDOW_LOG_MAX = 100

type CreateDecoder = (options: object) => Transform
/** Node has it from 22.15 on. */
const createZstdDecompress: unknown = Reflect.get(zlib, 'createZstdDecompress')

/** The codings by their names. */
const decoders: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', () => zlib.createGunzip({ chunkSize: PIECE_BYTES })],
  ...(typeof createZstdDecompress === 'function'
    ? ([
        [
          'zstd',
          () =>
            (createZstdDecompress as CreateDecoder)({
              chunkSize: PIECE_BYTES,
              params: { [ZSTD_WINDOW_LOG_MAX]: ZSTD_WINDOW_LOG },
            }),
        ],
      ] as const)
    : []),
])

interface DecodedOptions {
  readonly decoder: Transform
  readonly coding: string
  /** The most decoded bytes. */
  readonly limitBytes: number
  /** Called with the number of bytes of each piece. @throws when there is no memory for them */
  readonly take: (bytes: number) => void
}

/**
 * Decodes a body piece by piece, no faster than the gateway reads it, and stops at the first byte beyond its bound, so
 * that a small compressed body cannot take more memory or time than that.
 */
class Decoded extends Readable {
  /** Fastify compares it with the body limit and with `Content-Length`. */
  receivedEncodedLength = 0
  readonly #body: Readable
  readonly #options: DecodedOptions
  #decodedBytes = 0
  #isRead = false

  constructor(body: Readable, options: DecodedOptions) {
    super()
    this.#body = body
    this.#options = options
  }

  override _read(): void {
    const { decoder, coding } = this.#options
    if (this.#isRead) {
      decoder.resume()
      return
    }
    this.#isRead = true
    if (this.#body.destroyed) {
      this.destroy(new Error('the caller hung up'))
      return
    }
    decoder
      .on('data', this.#onDecoded)
      .on('drain', () => this.#body.resume())
      .once('end', () => this.push(null))
      .on('error', () =>
        this.destroy(new RequestError('body_invalid', `The request body is not whole ${coding}`)),
      )
    this.#body
      .on('data', this.#onData)
      .once('end', () => decoder.end())
      .on('error', (error) => this.destroy(error))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#options.decoder.destroy()
    // The rest of the body is discarded, so that the connection can go on after the answer.
    if (this.#isRead) this.#body.off('data', this.#onData).resume()
    done(error)
  }

  readonly #onData = (chunk: Buffer): void => {
    this.receivedEncodedLength += chunk.length
    if (!this.#options.decoder.write(chunk)) this.#body.pause()
  }

  readonly #onDecoded = (piece: Buffer): void => {
    const { decoder, limitBytes, take } = this.#options
    this.#decodedBytes += piece.length
    try {
      if (this.#decodedBytes > limitBytes)
        throw new RequestError(
          'body_too_large',
          `The request body is larger than ${bytesInWords(limitBytes)}`,
        )
      take(piece.length)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error('no room', { cause: error }))
      return
    }
    if (!this.push(piece)) decoder.pause()
  }
}

/**
 * Returns the decoded form of a compressed body. The memory for its bytes is counted as they arrive.
 * @throws RequestError `media_type_unsupported`, for which the answer has the codings that are taken
 */
export function decodedBody(
  request: FastifyRequest,
  reply: FastifyReply,
  body: Readable,
  coding: string,
): Readable {
  const taken = isForm(request) ? ['identity'] : [...decoders.keys()]
  const createDecoder = isForm(request) ? undefined : decoders.get(coding)
  if (createDecoder === undefined) {
    // RFC 9110, 12.5.3.
    void reply.header('accept-encoding', taken.join(', '))
    const message = `This request body may have one of these codings: ${taken.join(', ')}`
    throw new RequestError('media_type_unsupported', message)
  }
  const { bodyLimit: limitBytes } = request.routeOptions
  const decoder = owned(createDecoder())
  const take = (bytes: number): void => request.heldBody?.take(bytes * MEMORY_PER_BYTE.ascii)
  return owned(new Decoded(body, { decoder, coding, limitBytes, take }))
}
