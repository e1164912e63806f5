import { once } from 'node:events'
import { ReadStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Readable } from 'node:stream'
import { send, type SendResult } from '@fastify/send'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import {
  answer,
  emptyAnswer,
  type FailureShape,
  failureResponses,
} from '../kit/routes/documentation.ts'
import { RequestError } from '../kit/request-error.ts'
import { owned } from '../../platform/owned.ts'

/** The object of a signed URL; undefined for an expired, forged or malformed one. */
export type FindObject = (
  key: string,
  query: Readonly<Record<string, unknown>>,
) => Promise<
  | {
      /** File of the object, whose first `sizeBytes` are its content. */
      readonly path: string
      readonly sizeBytes: number
      readonly contentType: string
      /** Bytes of it for the one socket that they are piped to. */
      readonly read: (start: number, sizeBytes: number) => Readable
    }
  | undefined
>

/** Types that a browser may show inline; any other is downloaded. */
const shown = /^(?:image|audio|video)\//

const files = { 'application/octet-stream': 'The bytes of the object, with its media type.' }

const objectSchema = (shape: FailureShape): FastifySchema => ({
  operationId: 'downloadObject',
  tags: ['Operating'],
  summary: 'Download a result by its signed URL',
  params: Type.Object({
    '*': Type.String({
      description: 'Path of the object as in the signed URL; `/` may be written as `%2F`.',
    }),
  }),
  querystring: Type.Object({
    expires: Type.String({ description: 'Unix seconds at which the URL expires.' }),
    signature: Type.String(),
  }),
  response: {
    200: answer({ others: files }),
    206: answer({ what: 'The byte range that `Range` asks for.', others: files }),
    304: emptyAnswer('The client already has this version.'),
    412: emptyAnswer('A condition of `If-Match` or `If-Unmodified-Since` failed.'),
    416: emptyAnswer('The range begins beyond the end.'),
    ...failureResponses(shape, ['storage_unavailable'], [notThere()]),
  },
})

/** Callers do not learn whether it never existed, was purged, or the URL is not the gateway's. */
function notThere(): RequestError {
  return new RequestError('route_not_found', 'There is no such route')
}

/** The range of the file that an answer with these headers has. */
function rangeOf(headers: Readonly<Record<string, string>>): {
  readonly start: number
  readonly sizeBytes: number
} {
  const [, start = 0] = /^bytes (\d+)-/.exec(headers['Content-Range'] ?? '') ?? []
  return { start: Number(start), sizeBytes: Number(headers['Content-Length']) }
}

/**
 * Streams an object. @throws DomainError `storage_unavailable` if its beginning is damaged; later
 * damage can only cut the answer off
 */
async function bodyOf(
  { stream, headers }: SendResult,
  { read }: NonNullable<Awaited<ReturnType<FindObject>>>,
): Promise<Readable> {
  // No bytes are sent: to HEAD, or because the client has them.
  if (!(stream instanceof ReadStream)) return stream
  // The file is being opened, which can still fail.
  owned(stream).destroy()
  const { start, sizeBytes } = rangeOf(headers)
  const bytes = read(start, sizeBytes)
  await once(bytes, 'readable')
  return bytes
}

/**
 * Objects of the gateway's own storage by their signed URLs, whole or in ranges: `GET` and `HEAD`
 * `/objects/<key>`. The routes need no token: the URL is the secret.
 */
export function objectsPlugin(find: FindObject, shape: FailureShape) {
  // oxlint-disable-next-line typescript/require-await -- Fastify recognises a plugin by it
  return async (app: FastifyInstance): Promise<void> => {
    app.get<{ Params: { '*': string }; Querystring: Record<string, unknown> }>('/objects/*', {
      // Any other URL is answered as an unknown route.
      validatorCompiler: () => () => true,
      schema: objectSchema(shape),
      handler: async (request, reply) => {
        const key = request.params['*']
        const found = await find(key, request.query)
        if (found === undefined) throw notThere()
        const { path, contentType } = found
        const sent = await send(request.raw, basename(path), {
          root: dirname(path),
          end: found.sizeBytes - 1,
          dotfiles: 'allow',
          index: false,
          contentType: false,
          cacheControl: false,
        })
        if (sent.type === 'directory' || sent.statusCode === 404) throw notThere()
        const body = await bodyOf(sent, found)
        void reply
          .code(sent.statusCode)
          .headers(sent.headers)
          .headers({
            'cache-control': 'private',
            'content-disposition': `${shown.test(contentType) ? 'inline' : 'attachment'}; filename="${basename(key)}"`,
            'content-security-policy': "default-src 'none'; sandbox",
          })
        // The library would answer a failure with its own page; the status is enough.
        if (sent.type !== 'file') return reply.headers({ 'content-length': '0' }).send()
        return reply.type(contentType).send(body)
      },
    })
  }
}
