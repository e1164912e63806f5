import { Buffer } from 'node:buffer'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { sha256Hex } from '../../../kernel/ids.ts'
import type { TaskRequest } from '../../../domain/task/state.ts'
import { payloadKey } from '../../../storage/object-key.ts'
import type { ReadyImages } from '../../calls/images/inputs.ts'
import type { SentImage } from '../../ports/images.ts'
import { reserveWhileWaiting } from '../../files/uploads/quota.ts'
import type { ImageMedia, ImageTaskDeps } from './deps.ts'
import { parseExactly } from '../../../kernel/exact-integers.ts'
import { owned } from '../../../platform/owned.ts'

/** A waiting request in object storage, encrypted: a length, a head in JSON, the pictures. */

type Picture =
  | Extract<SentImage, { readonly from: 'url' }>
  | (Omit<Extract<SentImage, { readonly from: 'upload' }>, 'bytes'> & {
      readonly sizeBytes: number
    })

interface Head {
  readonly request: Omit<ReadyImages, 'inputs' | 'mask'>
  /** The mask is last, if there is one. */
  readonly pictures: readonly Picture[]
  readonly hasMask: boolean
}

const LENGTH_BYTES = 4

function picturesOf({ inputs, mask }: ReadyImages): readonly SentImage[] {
  return mask === undefined ? inputs : [...inputs, mask]
}

function headOf(images: ReadyImages): Head {
  const { inputs: _inputs, mask, ...request } = images
  const pictures = picturesOf(images).map((picture): Picture => {
    if (picture.from === 'url') return picture
    const { bytes, ...rest } = picture
    return { ...rest, sizeBytes: bytes.length }
  })
  return { request, pictures, hasMask: mask !== undefined }
}

function* encoded(images: ReadyImages): Generator<Uint8Array, void> {
  const head = Buffer.from(JSON.stringify(headOf(images)))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(head.length)
  yield length
  yield head
  for (const picture of picturesOf(images)) if (picture.from === 'upload') yield picture.bytes
}

function decoded(bytes: Buffer): ReadyImages {
  const end = LENGTH_BYTES + bytes.readUInt32BE(0)
  // The gateway sealed it, so it has this shape.
  const head = parseExactly(bytes.toString('utf8', LENGTH_BYTES, end)) as Head
  let at = end
  const pictures = head.pictures.map((picture): SentImage => {
    if (picture.from === 'url') return picture
    const { sizeBytes, ...rest } = picture
    at += sizeBytes
    return { ...rest, bytes: bytes.subarray(at - sizeBytes, at) }
  })
  const { request, hasMask } = head
  return {
    ...request,
    inputs: hasMask ? pictures.slice(0, -1) : pictures,
    mask: hasMask ? pictures.at(-1) : undefined,
  }
}

/** Distinguishes an order from another one under the same key. */
export function hashOfOrder(images: ReadyImages): string {
  const hashes = picturesOf(images).map((picture) =>
    picture.from === 'upload' ? sha256Hex(picture.bytes) : picture.url,
  )
  return sha256Hex(JSON.stringify([headOf(images), hashes]))
}

interface PayloadDeps extends Pick<ImageTaskDeps, 'pool' | 'quota'> {
  readonly media: ImageMedia
}

type Named = Pick<TaskRequest, 'platformId' | 'requestId'>

/**
 * One object name for each request: two requests under one `Idempotency-Key` have different ones.
 */
function keyOf({ platformId, requestId }: Named): string {
  return `${payloadKey(platformId)}/${requestId}`
}

/**
 * Stored pictures count in the tenant's quota until the task ends.
 * @throws DomainError `storage_unavailable`, `object_too_large`, those of `UploadQuota.take`
 */
export async function keepPayload(
  { media, pool, quota }: PayloadDeps,
  task: Named & Pick<TaskRequest, 'tenantId'>,
  images: ReadyImages,
): Promise<void> {
  const sizeBytes = picturesOf(images).reduce(
    (sum, picture) => sum + (picture.from === 'upload' ? picture.bytes.length : 0),
    0,
  )
  const [{ tenantId }, uploadId] = [task, keyOf(task)]
  if (sizeBytes > 0) await reserveWhileWaiting({ pool, quota }, { tenantId, uploadId, sizeBytes })
  await media.payloads.put(
    keyOf(task),
    owned(Readable.from(encoded(images), { objectMode: false })),
  )
}

/** Undefined: it is deleted. @throws DomainError `storage_unavailable` */
export async function readPayload(
  { payloads }: ImageMedia,
  task: Named,
): Promise<ReadyImages | undefined> {
  const found = await payloads.open(keyOf(task))
  return found && decoded(await buffer(found))
}

/** Deletes a request that will not be sent any more. */
export async function removePayload({ media, quota }: PayloadDeps, task: Named): Promise<void> {
  await quota.free(keyOf(task))
  await media.store.remove(keyOf(task))
}
