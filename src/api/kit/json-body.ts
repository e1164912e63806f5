import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sha256Hex } from '../../kernel/ids.ts'
import { countBody } from './body-budget.ts'
import { rememberBodyHash } from './body-hash.ts'
import { hasIdempotencyKey } from './idempotency-key.ts'
import { parseMediaJson } from './media-json.ts'
import { RequestError } from './request-error.ts'
import { parseStrictJson } from './strict-json.ts'

function checkEncoding(request: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new RequestError('media_type_unsupported', 'The request body must be UTF-8')
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new RequestError('media_type_unsupported', 'A compressed request body is not accepted')
}

/** How bodies of a surface differ from the plain case. */
export interface JsonBodyOptions {
  /** String values may hold lone surrogates and NUL: they are passed on and not stored. */
  readonly anyText?: boolean
  /** Nobody asks for `bodyHashOf` but under an `Idempotency-Key`. */
  readonly withoutHash?: boolean
  /** Long data URIs are left as bytes: see `parseMediaJson`. */
  readonly keepsMedia?: boolean
}

/**
 * Below this plugin only `application/json` is read, strictly, up to `limitBytes`; any other
 * content type is 415. An empty body is left undefined: only a route that needs one refuses it.
 */
export function useJsonBody(
  app: FastifyInstance,
  limitBytes: number,
  options: JsonBodyOptions = {},
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: limitBytes },
    (request, body: Buffer, done) => {
      try {
        checkEncoding(request)
        if (body.length === 0) {
          done(null, undefined)
          return
        }
        countBody(request, body)
        const value =
          options.keepsMedia === true
            ? parseMediaJson(body)
            : parseStrictJson(body, options.anyText)
        if (options.withoutHash !== true || hasIdempotencyKey(request))
          rememberBodyHash(request, sha256Hex(body))
        done(null, value)
      } catch (error) {
        done(error instanceof Error ? error : new Error('unreadable body', { cause: error }))
      }
    },
  )
}

/** The body as a JSON object. @throws RequestError `body_empty`, `body_invalid` */
export function objectBody(body: unknown): Readonly<Record<string, unknown>> {
  if (body === undefined) throw new RequestError('body_empty', 'The request body is empty')
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new RequestError('body_invalid', 'The request body must be a JSON object')
  return body as Readonly<Record<string, unknown>>
}
