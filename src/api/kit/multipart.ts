import { Buffer } from 'node:buffer'
import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hasNul } from '../../kernel/storable-text.ts'
import { RequestError } from './request-error.ts'

/** Bodies of `multipart/form-data` (RFC 7578): what is read of one at most (P10). */
export interface FormLimits {
  /** All parts together. */
  readonly bodyBytes: number
  readonly fileBytes: number
  readonly files: number
  readonly fields: number
  readonly fieldBytes: number
}

/** A part with a file. What a caller calls its file or its type is not looked at. */
export interface FormUpload {
  readonly name: string
  readonly bytes: Uint8Array
}

export interface ReadForm {
  /** Texts by name; a name that came more than once, or ends in `[]`, has a list. */
  readonly fields: Readonly<Record<string, string | readonly string[]>>
  readonly uploads: readonly FormUpload[]
}

const NAME_BYTES = 100
const HEADERS_OF_PART = 20

/** Below this plugin forms are let through to be read by `readForm`. */
export async function useForms(app: FastifyInstance): Promise<void> {
  await app.register(multipart, { throwFileSizeLimit: true })
}

/** Whether a request brings a form. */
export function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
}

/**
 * Reads a form whole; each file is held once.
 * @throws RequestError `body_invalid`, `body_too_large`, naming the part where there is one
 */
export async function readForm(request: FastifyRequest, limits: FormLimits): Promise<ReadForm> {
  const stated = Number(request.headers['content-length'] ?? 0)
  if (stated > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
  const fields = new Map<string, string[]>()
  const uploads: FormUpload[] = []
  let receivedBytes = 0
  const take = (bytes: number): void => {
    receivedBytes += bytes
    if (receivedBytes > limits.bodyBytes) throw tooLarge(limits.bodyBytes)
  }
  try {
    const parts = request.parts({
      limits: {
        fieldNameSize: NAME_BYTES,
        fieldSize: limits.fieldBytes,
        fields: limits.fields,
        fileSize: limits.fileBytes,
        files: limits.files,
        parts: limits.files + limits.fields,
        headerPairs: HEADERS_OF_PART,
      },
    })
    for await (const part of parts) {
      const name = part.fieldname
      if (part.type === 'file') {
        const chunks: Buffer[] = []
        for await (const chunk of part.file as AsyncIterable<Buffer>) {
          take(chunk.length)
          chunks.push(chunk)
        }
        if (part.file.truncated) throw tooLarge(limits.fileBytes, name)
        uploads.push({ name, bytes: joined(chunks) })
        continue
      }
      if (part.valueTruncated) throw tooLarge(limits.fieldBytes, name)
      const value = String(part.value)
      take(value.length)
      if (part.fieldnameTruncated || hasNul(name) || hasNul(value))
        throw new RequestError('body_invalid', 'A field of the form is not readable', name)
      fields.set(name, [...(fields.get(name) ?? []), value])
    }
  } catch (error) {
    throw error instanceof RequestError ? error : unreadable(error, limits)
  }
  return {
    fields: Object.fromEntries([...fields].map(([name, values]) => [name, valueOf(name, values)])),
    uploads,
  }
}

/** The pieces go as they are joined: never more than a file and one of its pieces twice. */
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

function unreadable(error: unknown, limits: FormLimits): RequestError {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  if (code === 'FST_REQ_FILE_TOO_LARGE') return tooLarge(limits.fileBytes)
  if (typeof code === 'string' && COUNTS.has(code))
    return new RequestError(
      'body_invalid',
      `A form may have at most ${limits.files} files and ${limits.fields} fields`,
    )
  return new RequestError('body_invalid', 'The form could not be read', undefined, error)
}
