import { PassThrough, type Readable } from 'node:stream'
import { IncompleteBodyError, objectTooLarge } from './errors.ts'
import { owned } from '../platform/owned.ts'

/** The size of the largest object. */
export const MAX_OBJECT_BYTES = 512 * 1024 * 1024

interface BodyBounds {
  readonly maxBytes: number
  /** Declared size. */
  readonly saidBytes: number | undefined
}

/**
 * The bytes of a body as they arrive; fails once the body is too large.
 *
 * @throws DomainError `object_too_large`; IncompleteBodyError at its end, before anything is kept
 */
export async function* boundedBody(
  body: Readable | Uint8Array,
  { maxBytes, saidBytes }: BodyBounds,
): AsyncGenerator<Uint8Array, void> {
  if ((saidBytes ?? 0) > maxBytes) throw objectTooLarge(maxBytes)
  let sizeBytes = 0
  const chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array> =
    body instanceof Uint8Array ? [body] : body
  for await (const chunk of chunks) {
    sizeBytes += chunk.length
    if (sizeBytes > maxBytes) throw objectTooLarge(maxBytes)
    yield chunk
  }
  if (saidBytes !== undefined && saidBytes !== sizeBytes)
    throw new IncompleteBodyError(sizeBytes, saidBytes)
}

/**
 * Joins chunks to parts of that size; only the last part is shorter. A part that is one chunk is
 * not copied.
 */
export async function* partsOf(
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array, void> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  for await (const chunk of chunks) {
    let rest = chunk
    while (heldBytes + rest.length >= partBytes) {
      const end = partBytes - heldBytes
      yield join([...held, rest.subarray(0, end)])
      rest = rest.subarray(end)
      held = []
      heldBytes = 0
    }
    if (rest.length > 0) held.push(rest)
    heldBytes += rest.length
  }
  if (heldBytes > 0) yield join(held)
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks)
}

/** A source that fails with the gateway's error, and stops when its reader is gone. */
export function guardedSource(source: Readable, toError: (error: unknown) => Error): Readable {
  const guarded = owned(new PassThrough())
  source.on('error', (error) => guarded.destroy(toError(error)))
  guarded.once('close', () => source.destroy())
  return source.pipe(guarded)
}
