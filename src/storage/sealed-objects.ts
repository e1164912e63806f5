import { createCipheriv, createDecipheriv } from 'node:crypto'
import { Readable } from 'node:stream'
import { deriveKey } from '../kernel/derived-key.ts'
import { randomSalt } from '../kernel/ids.ts'
import { boundedBody, MAX_OBJECT_BYTES, partsOf } from './body.ts'
import { storageUnavailable } from './errors.ts'
import type { ObjectStore } from './types.ts'
import { owned } from '../platform/owned.ts'

/** Objects that only the gateway can read, not the owner of the disk or the bucket. */
export interface SealedObjects {
  /** Stores an object, as `ObjectStore.put`. */
  readonly put: (key: string, body: Readable | Uint8Array) => Promise<void>
  /**
   * The object's bytes; undefined if there is no object. The stream fails with
   * `storage_unavailable` if a bit differs from what was stored under this key, or the end is
   * missing.
   */
  readonly open: (key: string) => Promise<Readable | undefined>
}

/** The size of a segment. Each is checked before it is passed on, so one segment is in memory. */
const SEGMENT_BYTES = 64 * 1024
const SALT_BYTES = 32
const TAG_BYTES = 16
const SEALED_SEGMENT_BYTES = SEGMENT_BYTES + TAG_BYTES
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12

/**
 * AES-256-GCM by segments. Each object has its own key, from the secret, a random salt stored
 * before it, and the object's name; the nonce is the segment's number and whether it is the last,
 * so no segment can be changed, moved, repeated or left out undetected.
 */
export function createSealedObjects(
  store: Pick<ObjectStore, 'put' | 'open'>,
  secret: string,
  purpose: string,
): SealedObjects {
  const keyOf = (name: string, salt: Uint8Array): Buffer =>
    deriveKey(secret, JSON.stringify(['sealed-object', purpose, name]), salt)
  return {
    put: async (name, body) => {
      const salt = randomSalt(SALT_BYTES)
      const chunks = boundedBody(body, { maxBytes: MAX_OBJECT_BYTES, saidBytes: undefined })
      const sealed = seal(keyOf(name, salt), salt, segmentsOf(chunks, SEGMENT_BYTES))
      await store.put(name, owned(Readable.from(sealed, { objectMode: false })))
    },
    open: async (name) => {
      const found = await store.open(name)
      if (found === undefined) return undefined
      const opened = unseal((salt) => keyOf(name, salt), found.body)
      const source = owned(Readable.from(opened, { objectMode: false }))
      return source.once('close', () => found.body.destroy())
    },
  }
}

function nonceOf(segment: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUInt32BE(segment, NONCE_BYTES - 5)
  nonce.writeUInt8(isLast ? 1 : 0, NONCE_BYTES - 1)
  return nonce
}

/** Segments of that size; the last holds the rest. An empty body has one segment. */
async function* segmentsOf(
  chunks: AsyncIterable<Uint8Array>,
  segmentBytes: number,
): AsyncGenerator<{ readonly bytes: Uint8Array; readonly isLast: boolean }, void> {
  let held: Uint8Array | undefined
  for await (const part of partsOf(chunks, segmentBytes)) {
    if (held !== undefined) yield { bytes: held, isLast: false }
    held = part
  }
  yield { bytes: held ?? new Uint8Array(), isLast: true }
}

async function* seal(
  key: Buffer,
  salt: Buffer,
  segments: ReturnType<typeof segmentsOf>,
): AsyncGenerator<Buffer, void> {
  yield salt
  let number = 0
  for await (const { bytes, isLast } of segments) {
    const cipher = createCipheriv(CIPHER, key, nonceOf(number, isLast))
    yield cipher.update(bytes)
    cipher.final()
    yield cipher.getAuthTag()
    number += 1
  }
}

/** The first bytes of a stream (fewer if it is shorter), and the rest. */
async function splitAt(
  source: Readable,
  sizeBytes: number,
): Promise<{ readonly head: Buffer; readonly rest: AsyncIterable<Uint8Array> }> {
  const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]()
  let read = Buffer.alloc(0)
  while (read.length < sizeBytes) {
    const next = await chunks.next()
    if (next.done === true) break
    read = Buffer.concat([read, next.value])
  }
  const rest = async function* (): AsyncGenerator<Uint8Array, void> {
    yield read.subarray(sizeBytes)
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next())
      yield next.value
  }
  return { head: read.subarray(0, sizeBytes), rest: rest() }
}

async function* unseal(
  keyFor: (salt: Buffer) => Buffer,
  sealed: Readable,
): AsyncGenerator<Buffer, void> {
  const { head: salt, rest } = await splitAt(sealed, SALT_BYTES)
  const key = keyFor(salt)
  let number = 0
  for await (const { bytes, isLast } of segmentsOf(rest, SEALED_SEGMENT_BYTES)) {
    yield openSegment(key, nonceOf(number, isLast), bytes)
    number += 1
  }
}

function openSegment(key: Buffer, nonce: Buffer, bytes: Uint8Array): Buffer {
  const end = bytes.length - TAG_BYTES
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(Math.max(0, end)))
    const opened = decipher.update(bytes.subarray(0, Math.max(0, end)))
    decipher.final()
    return opened
  } catch (error) {
    throw storageUnavailable('damaged', error)
  }
}
