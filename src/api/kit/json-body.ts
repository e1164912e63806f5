import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import type { TSchema } from 'typebox'
import { sha256Hex } from '../../kernel/ids.ts'
import { isJsonObject } from '../../kernel/json.ts'
import { parseJsonKeepingRaw } from '../../kernel/long-strings.ts'
import { countBody } from './body-budget.ts'
import { hasIdempotencyKey, rememberBodyHash } from './idempotency.ts'
import { typoCheck } from './typo-check.ts'
import { RequestError } from './request-error.ts'
import { strictValidator } from './validator.ts'
import { hasLoneSurrogate, hasNul } from '../../kernel/storable-text.ts'

/** How deep arrays and objects may nest. */
export const MAX_JSON_DEPTH = 64
/** How many values a body may hold: bounds the memory that a small body can need. */
export const MAX_JSON_VALUES = 100_000

interface Level {
  /** Keys seen so far, of an object; undefined for an array. */
  readonly keys: Set<string> | undefined
  key: string
  index: number
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function refuse(message: string, param?: string): never {
  throw new RequestError('body_invalid', message, param)
}

function pathOf(levels: readonly Level[]): string {
  let path = ''
  for (const level of levels) {
    if (level.keys === undefined) path += `[${level.index}]`
    else if (level.key !== '') path += path === '' ? level.key : `.${level.key}`
  }
  return path.slice(0, 256)
}

/** Index of the closing quote of the string that opens at `start`, or -1. */
function closingQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes += 1
    if (backslashes % 2 === 0) return end
    end = text.indexOf('"', end + 1)
  }
  return -1
}

function decode(raw: string): string {
  if (!raw.includes('\\')) return raw.slice(1, -1)
  try {
    return String(JSON.parse(raw))
  } catch {
    return refuse('The request body is not valid JSON')
  }
}

function checkText(raw: string, levels: readonly Level[], anyText: boolean): void {
  if (anyText || !raw.includes('\\u')) return
  const text = decode(raw)
  if (hasLoneSurrogate(text)) refuse('A string is not well-formed Unicode', pathOf(levels))
  if (hasNul(text)) refuse('A string holds a NUL character', pathOf(levels))
}

function enterKey(raw: string, levels: readonly Level[], level: Level): void {
  const key = decode(raw)
  checkText(raw, levels, false)
  const parent = levels.at(-2)
  level.key = key
  if (key === '__proto__' || (key === 'prototype' && parent?.key === 'constructor'))
    refuse(`The key ${key} is not accepted`, pathOf(levels))
  if (level.keys?.has(key)) refuse('A key appears twice in one object', pathOf(levels))
  level.keys?.add(key)
}

function checkNumber(raw: string, levels: readonly Level[]): void {
  const value = Number(raw)
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
    refuse('A number is outside the range that is kept exactly', pathOf(levels))
}

/**
 * Checks what `JSON.parse` accepts: duplicate keys (the last would win silently), prototype keys,
 * nesting, lone surrogates, NUL, numbers that would lose digits. `JSON.parse` checks the grammar:
 * on text that is not JSON this function only has to terminate.
 */
function scan(text: string, anyText: boolean): void {
  const levels: Level[] = []
  let expectKey = false
  let values = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    const level = levels.at(-1)
    if (char === '"') {
      const end = closingQuote(text, at)
      if (end === -1) return
      const raw = text.slice(at, end + 1)
      if (expectKey && level) enterKey(raw, levels, level)
      else checkText(raw, levels, anyText)
      expectKey = false
      at = end
    } else if (char === '{' || char === '[') {
      if (levels.length === MAX_JSON_DEPTH)
        refuse(`The request body nests deeper than ${MAX_JSON_DEPTH} levels`, pathOf(levels))
      levels.push({ keys: char === '{' ? new Set() : undefined, key: '', index: 0 })
      expectKey = char === '{'
      values += 1
    } else if (char === '}' || char === ']') {
      if (levels.pop() === undefined) return
      expectKey = false
    } else if (char === ',' && level) {
      level.index += 1
      expectKey = level.keys !== undefined
      values += 1
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      number.lastIndex = at
      const match = number.exec(text)
      if (match === null) return
      checkNumber(match[0], levels)
      at = number.lastIndex - 1
    }
    if (values > MAX_JSON_VALUES)
      refuse(`The request body holds more than ${MAX_JSON_VALUES} values`)
  }
}

/**
 * Parses a JSON body strictly: valid UTF-8, no duplicate or prototype keys, nesting and size of the
 * result bounded, no lone surrogates or NUL, no number that a double cannot hold exactly.
 * With `anyText`, string values may hold lone surrogates and NUL: of bodies that are passed on and
 * not stored.
 * @throws RequestError `body_empty`, `body_invalid` (with the path of the field where there is one)
 */
export function parseStrictJson(bytes: Buffer, anyText = false): unknown {
  if (bytes.length === 0) throw new RequestError('body_empty', 'The request body is empty')
  if (!isUtf8(bytes)) refuse('The request body is not valid UTF-8')
  const text = bytes.toString('utf8')
  scan(text, anyText)
  try {
    return JSON.parse(text)
  } catch {
    return refuse('The request body is not valid JSON')
  }
}

function checkEncoding(request: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset))
    throw new RequestError('media_type_unsupported', 'The request body must be UTF-8')
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new RequestError('media_type_unsupported', 'A compressed request body is not accepted')
}

/** How bodies of a surface differ from the default. */
export interface JsonBodyOptions {
  /** String values may hold lone surrogates and NUL: they are passed on and not stored. */
  readonly anyText?: boolean
  /** The caller uses `bodyHashOf` only under an `Idempotency-Key`. */
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
    return error === undefined ? validate(value) : { error }
  }
}

const SCHEME = 'data:'

/**
 * As `parseStrictJson`, but long data URIs stay bytes of the body (`RawString`): a body with media
 * is neither decoded nor copied. Data URIs with an escape are decoded.
 * @throws RequestError as `parseStrictJson`
 */
export function parseMediaJson(body: Buffer): unknown {
  // Checked over the whole body, because the parts that are read below are already text.
  if (!isUtf8(body)) throw new RequestError('body_invalid', 'The request body is not valid UTF-8')
  const { value, rawStringOf } = parseJsonKeepingRaw(body, {
    isWanted: (start) => start.toString('latin1', 0, SCHEME.length) === SCHEME,
    parse: (text) => parseStrictJson(Buffer.from(text)),
  })
  const restored = (part: unknown): unknown => {
    if (typeof part === 'string') return rawStringOf(part) ?? part
    if (Array.isArray(part)) return part.map(restored)
    if (!isJsonObject(part)) return part
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, restored(inner)]))
  }
  return restored(value)
}
