import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import { sha256Hex } from '../../kernel/ids.ts'
import { isJsonObject } from '../../kernel/json.ts'
import { parseLifting } from '../../kernel/long-strings.ts'
import { countBody } from './body-budget.ts'
import { hasIdempotencyKey, rememberBodyHash } from './idempotency.ts'
import { misspeltIn } from './misspelt.ts'
import { RequestError } from './request-error.ts'
import { parseStrictJson } from './strict-json.ts'
import { strictValidator } from './validator.ts'

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

function requiresNothing(schema: TSchema): boolean {
  const required: unknown = Reflect.get(schema, 'required')
  return !Array.isArray(required) || required.length === 0
}

/**
 * For routes that change what an account may do: a body has only members of its schema, and the refusal of
 * a misspelt one names what was meant. The body may be absent where its schema requires nothing.
 */
export const strictBodies: FastifySchemaCompiler<TSchema> = (route) => {
  const validate = strictValidator(route)
  if (route.httpPart !== 'body') return validate
  const tell = misspeltIn(route.schema)
  const mayBeAbsent = requiresNothing(route.schema)
  return (value: unknown) => {
    // Fastify says null where nothing was sent.
    if (value === undefined || value === null)
      return mayBeAbsent
        ? { value: {} }
        : { error: new RequestError('body_empty', 'The request body is empty') }
    const error = tell(value)
    return error === undefined ? validate(value) : { error }
  }
}

const SCHEME = 'data:'

/**
 * As `parseStrictJson`, but long data URIs are left as the bytes of the body they stand in
 * (`AsciiText`): a body of media is neither made into text nor copied. Those with an escape are text.
 * @throws RequestError as `parseStrictJson`
 */
export function parseMediaJson(body: Buffer): unknown {
  // Checked over the whole body: the parts that are read below are text already.
  if (!isUtf8(body)) throw new RequestError('body_invalid', 'The request body is not valid UTF-8')
  const { value, lifted } = parseLifting(body, {
    isWanted: (start) => start.toString('latin1', 0, SCHEME.length) === SCHEME,
    parse: (text) => parseStrictJson(Buffer.from(text)),
  })
  const restored = (part: unknown): unknown => {
    if (typeof part === 'string') return lifted(part) ?? part
    if (Array.isArray(part)) return part.map(restored)
    if (!isJsonObject(part)) return part
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, restored(inner)]))
  }
  return restored(value)
}
