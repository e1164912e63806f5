import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sha256Hex } from '../../../kernel/ids.ts'

/**
 * Pages that are the same for every caller: each is written and compressed once per process, and a
 * caller who already has it gets 304.
 */

const BROTLI_QUALITY = 9
const compressors = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
} as const
type Encoding = keyof typeof compressors

/** The encodings that the caller accepts, by their names. */
export function acceptedEncodings(request: FastifyRequest): ReadonlySet<string> {
  const accepted = (request.headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim()))
    .filter(([, weight = '']) => !/^q=0(?:\.0{1,3})?$/.test(weight))
    .map(([name = '']) => name)
  return new Set(accepted)
}

/** The best encoding that the caller accepts; undefined for none. */
function encodingOf(request: FastifyRequest): Encoding | undefined {
  const accepted = acceptedEncodings(request)
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : undefined
}

class KeptPage {
  readonly #bytes: Buffer
  readonly #mediaType: string
  readonly #tag: string
  readonly #compressed = new Map<Encoding, Promise<Buffer>>()

  constructor(bytes: Buffer, mediaType: string) {
    this.#bytes = bytes
    this.#mediaType = mediaType
    this.#tag = `W/"${sha256Hex(bytes).slice(0, 32)}"`
  }

  /** The body of an answer, whose status and headers it sets. */
  async answer(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | ''> {
    for (const name of ['accept-ranges', 'last-modified']) reply.removeHeader(name)
    void reply.header('etag', this.#tag).header('vary', 'Accept-Encoding')
    const known = (request.headers['if-none-match'] ?? '').split(',')
    if (known.some((one) => one.trim() === this.#tag)) {
      for (const name of ['content-type', 'content-length']) reply.removeHeader(name)
      void reply.code(304)
      return ''
    }
    const encoding = encodingOf(request)
    const body = encoding === undefined ? this.#bytes : await this.#in(encoding)
    if (encoding !== undefined) void reply.header('content-encoding', encoding)
    void reply.type(this.#mediaType).header('content-length', String(body.length))
    return body
  }

  #in(encoding: Encoding): Promise<Buffer> {
    const body = this.#compressed.get(encoding) ?? compressors[encoding](this.#bytes)
    this.#compressed.set(encoding, body)
    return body
  }
}

const TEXT = /^(?:text\/|application\/(?:json|javascript|yaml|x-yaml)|image\/svg)/

/**
 * Names the key of a kept page: its route, or the name of a file. Undefined for a path that is another
 * writing of the same file: their number has no bound.
 */
function nameOf({ routeOptions: { url }, params }: FastifyRequest): string | undefined {
  if (url?.includes('*') !== true) return url
  const file: unknown = Reflect.get(Object(params), '*')
  return typeof file === 'string' && /^[\w-][\w.-]{0,63}$/.test(file) ? url + file : undefined
}

async function bytesOf(payload: unknown): Promise<Buffer | undefined> {
  if (typeof payload === 'string') return Buffer.from(payload)
  if (Buffer.isBuffer(payload)) return payload
  if (typeof payload !== 'object' || payload === null || !(Symbol.asyncIterator in payload))
    return undefined
  const pieces: Buffer[] = []
  for await (const piece of payload as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Keeps the pages of text below a plugin that answers all callers with the same. */
export function useKeptPages(app: FastifyInstance): void {
  const kept = new Map<string, KeptPage>()
  const answered = new WeakSet<FastifyRequest>()
  app.addHook('onRequest', async (request, reply) => {
    const page = kept.get(nameOf(request) ?? '')
    if (page === undefined) return undefined
    answered.add(request)
    return reply.send(await page.answer(request, reply))
  })
  app.addHook('onSend', async (request, reply, payload) => {
    const name = nameOf(request)
    const mediaType = String(reply.getHeader('content-type') ?? '')
    const isPage = request.method === 'GET' && reply.statusCode === 200 && TEXT.test(mediaType)
    if (name === undefined || !isPage || answered.has(request)) return payload
    const bytes = await bytesOf(payload)
    if (bytes === undefined) return payload
    const page = kept.get(name) ?? new KeptPage(bytes, mediaType)
    kept.set(name, page)
    return page.answer(request, reply)
  })
}
