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

/** What was asked, as it waits in object storage, encrypted: a length, a head in JSON, the pictures. */

type Picture =
  | Extract<SentImage, { readonly from: 'url' }>
  | (Omit<Extract<SentImage, { readonly from: 'upload' }>, 'bytes'> & {
      readonly sizeBytes: number
    })

interface Head {
  readonly request: Omit<ReadyImages, 'inputs' | 'mask'>
  /** The mask last, where there is one. */
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
  // Sealed by us: it is what was put.
  const head = JSON.parse(bytes.toString('utf8', LENGTH_BYTES, end)) as Head
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

/** What tells an order from another one that came under the same key. */
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

/** One key for each request: of two under the same `Idempotency-Key` each keeps its own. */
function keyOf({ platformId, requestId }: Named): string {
  return `${payloadKey(platformId)}/${requestId}`
}

/**
 * Pictures that are kept count in the quota of the tenant until the task ends.
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
  await media.payloads.put(keyOf(task), Readable.from(encoded(images), { objectMode: false }))
}

/** Undefined: it is gone. @throws DomainError `storage_unavailable` */
export async function readPayload(
  { payloads }: ImageMedia,
  task: Named,
): Promise<ReadyImages | undefined> {
  const found = await payloads.open(keyOf(task))
  return found && decoded(await buffer(found))
}

/** Nobody will send it any more. */
export async function removePayload({ media, quota }: PayloadDeps, task: Named): Promise<void> {
  await quota.free(keyOf(task))
  await media.store.remove(keyOf(task))
}
