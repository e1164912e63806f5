import { basename, dirname } from 'node:path'
import { send } from '@fastify/send'
import type { FastifyInstance } from 'fastify'
import { RequestError } from '../kit/request-error.ts'

/** The file that a URL given away leads to; undefined for one that is expired, forged or none. */
export type FindObject = (
  key: string,
  query: Readonly<Record<string, unknown>>,
) => { readonly path: string; readonly contentType: string } | undefined

/** How much of a file is read at once. */
const READ_BYTES = 512 * 1024
/** What a page may show by itself; anything else is for a file. */
const shown = /^(?:image|audio|video)\//

/** Whether it ever was there, was purged, or the URL is not ours, is told to nobody. */
function notThere(): RequestError {
  return new RequestError('route_not_found', 'There is no such route')
}

/**
 * Objects of the gateway's own storage by their signed URLs, whole or in ranges: `GET` and `HEAD`
 * `/objects/<key>`. No token is asked for: the URL is the secret.
 */
export function objectsPlugin(find: FindObject) {
  // oxlint-disable-next-line typescript/require-await -- Fastify tells plugins apart by it
  return async (app: FastifyInstance): Promise<void> => {
    app.get<{ Params: { '*': string }; Querystring: Record<string, unknown> }>('/objects/*', {
      schema: { tags: ['Operating'], summary: 'Download a result by the URL it was given away as' },
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
          highWaterMark: READ_BYTES,
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
        // What it says of a failure is a page of its own; the status says enough.
        if (sent.type !== 'file') return reply.headers({ 'content-length': '0' }).send()
        return reply.type(contentType).send(sent.stream)
      },
    })
  }
}
