import multipart from '@fastify/multipart'
import type { MultipartFile } from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Buffer } from 'node:buffer'
import { Readable } from 'node:stream'
import { sha256Hex } from '../../../kernel/ids.ts'
import { hasNul } from '../../../kernel/storable-text.ts'
import { takeForm, watchForm } from './body-budget.ts'
import { hashOfEnds, rememberFingerprint } from './body-fingerprint.ts'
import { hasIdempotencyKey, rememberBodyHash } from '../routes/idempotency.ts'
import { RequestError } from '../request-error.ts'
import { owned } from '../../../platform/owned.ts'

/** The bounds of a body of `multipart/form-data` (RFC 7578, P10). */
export interface FormLimits {
  /** All parts together. */
  readonly bodyBytes: number
  readonly fileBytes: number
  readonly files: number
  readonly fields: number
  readonly fieldBytes: number
}

/** A part with a file. The type that the caller states is ignored. */
export interface FormUpload {
  readonly name: string
  readonly bytes: Uint8Array
}

/** The file as a stream. */
export interface FormFile {
  readonly name: string
  /** The name as the caller sent it, possibly with a path. */
  readonly filename: string
  /** Fails with a RequestError if the form is cut off or too large. */
  readonly body: Readable
  /** The texts that came before it. */
  readonly before: FormFields
}

/** Texts by name; a name that came more than once, or ends in `[]`, has a list. */
export type FormFields = Readonly<Record<string, string | readonly string[]>>

export interface ReadForm {
  readonly fields: FormFields
  readonly uploads: readonly FormUpload[]
}

/**
 * Bytes of memory for each byte of a form that is read completely: the received pieces, the file
 * into which they are joined, and the sent copy. A forwarded file is in memory once.
 */
const MEMORY_PER_BYTE = { whole: 3, streamed: 1 } as const

const NAME_BYTES = 100
const HEADERS_OF_PART = 20

/** Below this plugin forms are accepted, and read by `readForm` or `streamForm`. */
export async function useForms(app: FastifyInstance): Promise<void> {
  await app.register(multipart, { throwFileSizeLimit: true, preservePath: true })
}

/**
 * Reads a form whole; each file is held once.
 * @throws RequestError `body_invalid`, `body_too_large`, naming the part where there is one
 */
export async function readForm(request: FastifyRequest, limits: FormLimits): Promise<ReadForm> {
  const uploads: FormUpload[] = []
  const take = takerOf(request, limits, MEMORY_PER_BYTE.whole)
  const fields = await readParts(request, limits, take, async ({ name, body }) => {
    const chunks: Buffer[] = []
    for await (const chunk of body as AsyncIterable<Buffer>) chunks.push(chunk)
    uploads.push({ name, bytes: joined(chunks) })
  })
  const form = { fields, uploads }
  rememberFingerprint(request, endsOf(form))
  if (hasIdempotencyKey(request)) rememberBodyHash(request, hashOf(form))
  return form
}

/** Bytes that are equal for equal parts, as far as their ends say; without the boundaries. */
function endsOf({ fields, uploads }: ReadForm): Buffer {
  const files = uploads.map(({ name, bytes }) => [name, bytes.length, hashOfEnds(bytes)])
  return Buffer.from(JSON.stringify([fields, files]))
}

/** A fingerprint that is equal for equal parts: the boundary between them differs each time. */
function hashOf({ fields, uploads }: ReadForm): string {
  const files = uploads.map(({ name, bytes }) => [name, sha256Hex(bytes)])
  return sha256Hex(JSON.stringify([fields, files]))
}

/**
 * Reads a form and passes each file on as it arrives; what follows a file is read after the file
 * was processed.
 * @throws RequestError as `readForm`; what `onFile` throws
 */
export async function streamForm(
  request: FastifyRequest,
  limits: FormLimits,
  onFile: (file: FormFile) => Promise<void>,
): Promise<FormFields> {
  return readParts(request, limits, takerOf(request, limits, MEMORY_PER_BYTE.streamed), onFile)
}

async function readParts(
  request: FastifyRequest,
  limits: FormLimits,
  take: (bytes: number) => void,
  onFile: (file: FormFile) => Promise<void>,
): Promise<FormFields> {
  const fields = new Map<string, string[]>()
  let ofTaker: unknown
  // The reader of forms has no other way of being ended from outside.
  const unwatch = watchForm(request, (error) => request.raw.emit('error', error))
  try {
    for await (const part of request.parts({ limits: partLimits(limits) })) {
      const name = part.fieldname
      if (part.type === 'file') {
        const body = owned(Readable.from(bytesOf(part, take, limits), { objectMode: false }))
        const file = { name, filename: part.filename, body, before: fieldsOf(fields) }
        await onFile(file).catch((error: unknown) => {
          ofTaker = error
          throw error
        })
        continue
      }
      if (part.valueTruncated) throw tooLarge(limits.fieldBytes, name)
      const value = String(part.value)
      take(value.length)
      if (part.fieldnameTruncated || hasNul(name) || hasNul(value))
        throw new RequestError('body_invalid', 'A field of the form cannot be read', name)
      fields.set(name, [...(fields.get(name) ?? []), value])
    }
  } catch (error) {
    // The rest is discarded unread, so that the caller gets to read the answer.
    request.raw.unpipe()
    request.raw.resume()
    throw error === ofTaker ? error : toRefusal(error, limits)
  } finally {
    unwatch()
  }
  return fieldsOf(fields)
}

function fieldsOf(fields: ReadonlyMap<string, readonly string[]>): FormFields {
  return Object.fromEntries([...fields].map(([name, values]) => [name, valueOf(name, values)]))
}

function partLimits(limits: FormLimits) {
  return {
    fieldNameSize: NAME_BYTES,
    fieldSize: limits.fieldBytes,
    fields: limits.fields,
    fileSize: limits.fileBytes,
    files: limits.files,
    parts: limits.files + limits.fields,
    headerPairs: HEADERS_OF_PART,
  }
}

/** Counts the bytes of a form against its own bound and against the memory of all bodies. */
function takerOf(
  request: FastifyRequest,
  limits: FormLimits,
  memoryPerByte: number,
): (bytes: number) => void {
  if (Number(request.headers['content-length'] ?? 0) > limits.bodyBytes)
    throw tooLarge(limits.bodyBytes)
  let receivedBytes = 0
  return (bytes) => {
    receivedBytes += bytes
    if (receivedBytes > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
    takeForm(request, bytes * memoryPerByte)
  }
}

async function* bytesOf(
  { file, fieldname }: MultipartFile,
  take: (bytes: number) => void,
  limits: FormLimits,
): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of file as AsyncIterable<Buffer>) {
      take(chunk.length)
      yield chunk
    }
  } catch (error) {
    throw toRefusal(error, limits)
  }
  if (file.truncated) throw tooLarge(limits.fileBytes, fieldname)
}

/** Each piece is freed once it is joined, so that at most one piece is in memory twice. */
function joined(chunks: Buffer[]): Uint8Array {
  const [only] = chunks
  if (only !== undefined && chunks.length === 1) return only
  return Buffer.concat(chunks.splice(0))
}

function valueOf(name: string, values: readonly string[]): string | readonly string[] {
  const [only] = values
  return only !== undefined && values.length === 1 && !name.endsWith('[]') ? only : values
}

function tooLarge(limitBytes: number, name?: string): RequestError {
  const what = name === undefined ? 'The request body' : `\`${name}\``
  return new RequestError('body_too_large', `${what} must be at most ${limitBytes} bytes`, name)
}

const COUNTS: ReadonlySet<string> = new Set([
  'FST_PARTS_LIMIT',
  'FST_FILES_LIMIT',
  'FST_FIELDS_LIMIT',
])

/** The reader's error as a refusal of the gateway's. */
function toRefusal(error: unknown, limits: FormLimits): RequestError {
  if (error instanceof RequestError) return error
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(limits.fileBytes)
  if (typeof code === 'string' && COUNTS.has(code))
    return new RequestError(
      'body_invalid',
      `A form may have at most ${limits.files} files and ${limits.fields} fields`,
    )
  return new RequestError('body_invalid', 'The form could not be read', undefined, error)
}
