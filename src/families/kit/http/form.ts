import { Buffer } from 'node:buffer'
import { newUuid } from '../../../kernel/ids.ts'
import { BodyInPieces } from './json.ts'

interface FormFile {
  readonly name: string
  readonly fileName: string
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** A file that is sent on as it comes. */
interface PassingFile {
  readonly name: string
  /** File name given by the caller. */
  readonly fileName: string
  readonly body: AsyncIterable<Uint8Array>
}

/** The escapes by which browsers write characters that would end a name. */
function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

/** A body with one file that is forwarded piece by piece; its length is unknown in advance. */
export function passingForm(
  fields: readonly (readonly [string, string])[],
  file: PassingFile,
): { readonly contentType: string; readonly pieces: AsyncIterable<Uint8Array> } {
  const boundary = newUuid()
  const part = (disposition: string, value = ''): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${value}`
  const head = fields.map(([name, value]) => part(`name="${name}"`, `${value}\r\n`)).join('')
  const pieces = async function* (): AsyncGenerator<Uint8Array, void> {
    const named = `name="${file.name}"; filename="${escaped(file.fileName)}"`
    yield Buffer.from(head + part(named))
    yield* file.body
    yield Buffer.from(`\r\n--${boundary}--\r\n`)
  }
  return { contentType: `multipart/form-data; boundary=${boundary}`, pieces: pieces() }
}

/**
 * A body of `multipart/form-data` (RFC 7578), its files not copied. Names and file names are ours
 * and need no escaping.
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
