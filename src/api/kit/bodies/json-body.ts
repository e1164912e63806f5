import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { StringDecoder } from 'node:string_decoder'
import type {
  FastifyInstance,
  FastifyRequest,
  FastifySchemaCompiler,
  RequestPayload,
} from 'fastify'
import type { TSchema } from 'typebox'
import { LongStringParser } from '../../../kernel/long-strings.ts'
import { JsonText, type Span } from '../../../kernel/json-text.ts'
import { atOnce, inTurns, type Work } from '../../../kernel/turns.ts'
import { countBody } from './body-budget.ts'
import { rememberBodyText } from './body-text.ts'
import { rememberFingerprint } from './body-fingerprint.ts'
import { decodedBody } from './content-coding.ts'
import { hasIdempotencyKey, rememberBodyHash } from '../routes/idempotency.ts'
import { typoCheck } from './typo-check.ts'
import { RequestError } from '../request-error.ts'
import { MAX_COUNTED_CHARACTERS, NotJsonError } from './json-place.ts'
import { readStrictJson } from './strict-json.ts'
import { strictValidator, withoutUnmeantNulls } from './validator.ts'

/** Longer bodies are read in turns with other requests. */
const LARGE_BYTES = 128 * 1024
/** Length of a part of a body that is checked without a pause. */
const PART_BYTES = 2 * 1024 * 1024

function refuse(message: string): never {
  throw new RequestError('body_invalid', message)
}

function checkUtf8(body: Buffer): void {
  if (!isUtf8(body)) refuse('The request body is not valid UTF-8')
}

function* textOf(body: Buffer): Work<string> {
  if (body.length <= LARGE_BYTES) return body.toString('utf8')
  const decoder = new StringDecoder('utf8')
  let text = ''
  for (let at = 0; at < body.length; at += PART_BYTES) {
    yield
    text += decoder.write(body.subarray(at, at + PART_BYTES))
  }
  return text + decoder.end()
}

function* strictValue(body: Buffer, passesOn: boolean): Work<unknown> {
  if (body.length === 0) throw new RequestError('body_empty', 'The request body is empty')
  checkUtf8(body)
  yield
  return yield* readStrictJson(yield* textOf(body), passesOn)
}

/**
 * Parses a JSON body strictly: valid UTF-8, and the checks of `readStrictJson`. `passesOn` is for
 * bodies that are passed on and not stored.
 * @throws RequestError `body_empty`, `body_invalid` (with the path of the field where there is one)
 */
export function parseStrictJson(bytes: Buffer, passesOn = false): unknown {
  return atOnce(strictValue(bytes, passesOn))
}

/** The hash of a body, in hexadecimal. */
function* hashOf(body: Buffer): Work<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < body.length; at += PART_BYTES) {
    hash.update(body.subarray(at, at + PART_BYTES))
    yield
  }
  return hash.digest('hex')
}

/** The coding of a body in lower case; undefined if the request has no body, or one that is not compressed. */
function codingOf({ headers }: FastifyRequest): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (coding === undefined || coding === '' || coding === 'identity') return undefined
  const isThere =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  return isThere ? coding : undefined
}

function checkEncoding(request: FastifyRequest, options: JsonBodyOptions): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new RequestError('media_type_unsupported', 'The request body must be UTF-8')
  if (codingOf(request) !== undefined && options.mayBeCoded !== true)
    throw new RequestError('media_type_unsupported', 'A compressed request body is not accepted')
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** Some editors and clients write the mark before UTF-8; JSON does not have it. */
function withoutByteOrderMark(body: Buffer): Buffer {
  const isMarked = body[0] === 0xef && body.subarray(0, 3).equals(BYTE_ORDER_MARK)
  return isMarked ? body.subarray(3) : body
}

/** Differences of the bodies of a surface from the default. */
export interface JsonBodyOptions {
  /**
   * The body is passed on and not stored: string values may hold lone surrogates and NUL, and members
   * that are the caller's own integers of any size.
   */
  readonly passesOn?: boolean
  /** The caller uses `bodyHashOf` only under an `Idempotency-Key`. */
  readonly withoutHash?: boolean
  /**
   * The text of the body is passed on: see `takeBodyText`. Numbers may have any size, and are read as
   * near as a double comes to them.
   */
  readonly keepsText?: boolean
  /** Long data URIs are left as bytes: see `parseMediaJson`. */
  readonly keepsMedia?: boolean
  /** Whether the body may be compressed: see `decodedBody`. */
  readonly mayBeCoded?: boolean
}

/** Reads a body whose text goes on; its value is what it is checked and priced by. */
function* keepingText(request: FastifyRequest, body: Buffer): Work<unknown> {
  checkUtf8(body)
  yield
  const text = yield* textOf(body)
  const spans = new Map<string, Span>()
  const value = yield* readStrictJson(text, true, spans)
  rememberBodyText(request, new JsonText(text, body.length, spans))
  return value
}

function valueOf(request: FastifyRequest, body: Buffer, options: JsonBodyOptions): Work<unknown> {
  if (options.keepsText === true) return keepingText(request, body)
  return options.keepsMedia === true
    ? mediaValue(body)
    : strictValue(body, options.passesOn ?? false)
}

/**
 * Reads a body. It is no closure of a request: V8 keeps a shape for each generator function among the old objects, and
 * with it all that the closure sees until the next full collection.
 */
function* bodyOf(request: FastifyRequest, body: Buffer, options: JsonBodyOptions): Work<unknown> {
  checkEncoding(request, options)
  if (body.length === 0) return undefined
  countBody(request, body)
  yield
  const value = yield* valueOf(request, body, options)
  rememberFingerprint(request, body)
  if (options.withoutHash !== true || hasIdempotencyKey(request))
    rememberBodyHash(request, yield* hashOf(body))
  return value
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
  // A limit of the route, so that the refusal of a larger body can name it.
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= limitBytes
  })
  if (options.mayBeCoded === true)
    app.addHook('preParsing', (request, reply, payload, done) => {
      const coding = codingOf(request)
      if (coding === undefined) return done(null, payload)
      let decoded: RequestPayload
      try {
        decoded = decodedBody(request, reply, payload, coding)
      } catch (error) {
        return done(error instanceof Error ? error : new Error('unreadable', { cause: error }))
      }
      done(null, decoded)
    })
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: limitBytes },
    (request, sent: Buffer, done) => {
      const body = withoutByteOrderMark(sent)
      const failed = (error: unknown): void =>
        done(error instanceof Error ? error : new Error('unreadable body', { cause: error }))
      if (body.length > LARGE_BYTES) {
        inTurns(bodyOf(request, body, options)).then((value) => done(null, value), failed)
        return
      }
      let value: unknown
      try {
        value = atOnce(bodyOf(request, body, options))
      } catch (error) {
        failed(error)
        return
      }
      done(null, value)
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
 * For routes that change what an account may do: a body may have only members of its schema, and
 * the refusal of a misspelled one suggests the right name. The body may be absent where its schema
 * requires nothing.
 */
export const strictBodies: FastifySchemaCompiler<TSchema> = (route) => {
  const validate = strictValidator(route)
  if (route.httpPart !== 'body') return validate
  const check = typoCheck(route.schema)
  const mayBeAbsent = requiresNothing(route.schema)
  return (value: unknown) => {
    // Fastify gives null if nothing was sent.
    if (value === undefined || value === null)
      return mayBeAbsent
        ? { value: {} }
        : { error: new RequestError('body_empty', 'The request body is empty') }
    const error = check(value)
    return error === undefined ? validate(withoutUnmeantNulls(route.schema, value)) : { error }
  }
}

const SCHEME = 'data:'

function* mediaValue(body: Buffer): Work<unknown> {
  // Checked over the whole body, because the parts that are read below are already text.
  checkUtf8(body)
  const keeper = new LongStringParser({
    isWanted: (start) => start.toString('latin1', 0, SCHEME.length) === SCHEME,
  })
  for (let at = 0; at < body.length; at += PART_BYTES) {
    keeper.feed(body.subarray(at, at + PART_BYTES))
    yield
  }
  const { rest, rawStringOf } = keeper.end()
  let value: unknown
  try {
    value = yield* readStrictJson(yield* textOf(rest), false)
  } catch (error) {
    if (!(error instanceof NotJsonError) || rest.length === body.length) throw error
    // Marks in place of media move what follows them, so the place is found in the body itself.
    if (body.length > MAX_COUNTED_CHARACTERS) throw new NotJsonError()
    return yield* readStrictJson(yield* textOf(body), false)
  }
  const restore = (part: object): void => {
    for (const name in part) {
      const inner: unknown = Reflect.get(part, name)
      if (typeof inner === 'object' && inner !== null) restore(inner)
      const raw = typeof inner === 'string' ? rawStringOf(inner) : undefined
      if (raw !== undefined) Reflect.set(part, name, raw)
    }
  }
  const root = { value }
  restore(root)
  return root.value
}

/**
 * As `parseStrictJson`, but long data URIs stay bytes of the body (`RawString`): a body with media
 * is neither decoded nor copied. Data URIs with an escape are decoded.
 * @throws RequestError as `parseStrictJson`
 */
export function parseMediaJson(body: Buffer): unknown {
  return atOnce(mediaValue(body))
}
