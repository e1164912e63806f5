import { ReadStream } from 'node:fs'
import { basename, dirname } from 'node:path'
import { send } from '@fastify/send'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { FileRange } from './file-range.ts'
import { answer, emptyAnswer, type FailureShape, failureResponses } from '../kit/documentation.ts'
import { RequestError } from '../kit/request-error.ts'
import { owned } from '../../kernel/owned.ts'

/** The file of a signed URL; undefined for an expired, forged or malformed one. */
export type FindObject = (
  key: string,
  query: Readonly<Record<string, unknown>>,
) => { readonly path: string; readonly contentType: string } | undefined

/** Types that a browser may show inline; any other is downloaded. */
const shown = /^(?:image|audio|video)\//

const files = { 'application/octet-stream': 'The bytes, with the type of the object.' }

const objectSchema = (shape: FailureShape): FastifySchema => ({
  operationId: 'downloadObject',
  tags: ['Operating'],
  summary: 'Download a result by the URL it was given away as',
  params: Type.Object({
    '*': Type.String({ description: 'As the URL has it; `/` may be written as `%2F`.' }),
  }),
  querystring: Type.Object({
    expires: Type.String({ description: 'Unix seconds.' }),
    signature: Type.String(),
  }),
  response: {
    200: answer({ others: files }),
    206: answer({ what: 'The part that `Range` asks for.', others: files }),
    304: emptyAnswer('The client has it already.'),
    412: emptyAnswer('`If-Match` or `If-Unmodified-Since` says so.'),
    416: emptyAnswer('The range begins past the end.'),
    ...failureResponses(shape, [], [notThere()]),
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
        const found = find(request.params['*'], request.query)
        if (found === undefined) throw notThere()
        const { path, contentType } = found
        const name = basename(path)
        const sent = await send(request.raw, name, {
          root: dirname(path),
          dotfiles: 'allow',
          index: false,
          contentType: false,
          cacheControl: false,
        })
        if (sent.type === 'directory' || sent.statusCode === 404) throw notThere()
        void reply
          .code(sent.statusCode)
          .headers(sent.headers)
          .headers({
            'cache-control': 'private',
            'content-disposition': `${shown.test(contentType) ? 'inline' : 'attachment'}; filename="${name}"`,
            'content-security-policy': "default-src 'none'; sandbox",
          })
        // The library would answer a failure with its own page; the status is enough.
        if (sent.type !== 'file') return reply.headers({ 'content-length': '0' }).send()
        void reply.type(contentType)
        // No bytes are sent: to HEAD, or because the client has them.
        if (!(sent.stream instanceof ReadStream)) return reply.send(sent.stream)
        // It is being opened: that can still fail.
        owned(sent.stream).destroy()
        return reply.send(owned(new FileRange(sent.metadata.path, rangeOf(sent.headers))))
      },
    })
  }
}
