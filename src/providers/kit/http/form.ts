import { Buffer } from 'node:buffer'
import { newUuid } from '../../../kernel/ids.ts'
import { BodyInPieces } from './body-in-pieces.ts'

export interface FormFile {
  readonly name: string
  readonly fileName: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/**
 * A body of `multipart/form-data` (RFC 7578), its files not copied. Names and file names are ours:
 * nothing in them needs escaping.
 */
export function formOf(
  fields: readonly (readonly [string, string])[],
  files: readonly FormFile[],
): BodyInPieces {
  const boundary = newUuid()
  const head = (disposition: string, further = ''): Buffer =>
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n${further}\r\n`)
  const line = Buffer.from('\r\n')
  const pieces: readonly Uint8Array[] = [
    ...fields.flatMap(([name, value]) => [head(`name="${name}"`), Buffer.from(value), line]),
    ...files.flatMap(({ name, fileName, mediaType, bytes }) => [
      head(`name="${name}"; filename="${fileName}"`, `content-type: ${mediaType}\r\n`),
      bytes,
      line,
    ]),
    Buffer.from(`--${boundary}--\r\n`),
  ]
  const lengthBytes = pieces.reduce((sum, { length }) => sum + length, 0)
  return new BodyInPieces(`multipart/form-data; boundary=${boundary}`, pieces, lengthBytes)
}
