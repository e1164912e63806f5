import type { S3mini } from 's3mini'
import { partsOf } from '../body.ts'
import type { S3Client } from './client.ts'

type UploadPart = Awaited<ReturnType<S3mini['uploadPart']>>

/** Sends a body that has more than one part. No reader sees it before it is complete. */
async function uploadParts(
  client: S3Client,
  { key, contentType }: { readonly key: string; readonly contentType: string },
  parts: AsyncIterable<Uint8Array>,
): Promise<void> {
  const uploadId = await client.exchange((s3) => s3.getMultipartUploadId(key, contentType))
  try {
    const sent: UploadPart[] = []
    for await (const part of parts) {
      const number = sent.length + 1
      sent.push(await client.exchange((s3) => s3.uploadPart(key, uploadId, part, number)))
    }
    await client.exchange((s3) => s3.completeMultipartUpload(key, uploadId, sent))
  } catch (error) {
    // If this fails too, the bucket's rules for unfinished uploads must delete the parts.
    await client.exchange((s3) => s3.abortMultipartUpload(key, uploadId)).catch(() => undefined)
    throw error
  }
}

async function* startingWith(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* first
  yield* rest
}

/** Stores an object whole or not at all, with at most one part in memory. */
export async function upload(
  client: S3Client,
  object: { readonly key: string; readonly contentType: string },
  chunks: AsyncIterable<Uint8Array>,
  partBytes: number,
): Promise<void> {
  const parts = partsOf(chunks, partBytes)
  try {
    const first = await parts.next()
    const bytes = first.done === true ? new Uint8Array() : first.value
    if (bytes.length === partBytes) {
      const second = await parts.next()
      const further = second.done === true ? [] : [second.value]
      if (further.length > 0) {
        await uploadParts(client, object, startingWith([bytes, ...further], parts))
        return
      }
    }
    // Only the end of the body shows whether it is complete.
    await parts.next()
    await client.exchange((s3) => s3.putObject(object.key, bytes, object.contentType))
  } finally {
    await parts.return()
  }
}
