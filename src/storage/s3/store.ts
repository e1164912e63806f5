import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { Clock } from '../../kernel/clock.ts'
import { isDomainError } from '../../kernel/errors.ts'
import { boundedBody, guardedSource, MAX_OBJECT_BYTES } from '../body.ts'
import { checkObjectKey, contentTypeOf } from '../object-key.ts'
import { exactly, UnusableAnswerError } from './answers.ts'
import type { ByteRange, ListedObject, ObjectStore, OpenedObject } from '../types.ts'
import {
  createS3Client,
  defaultS3Limits,
  isMissing,
  type S3Client,
  type S3Limits,
  type S3Options,
  bucketErrorOf,
} from './client.ts'
import { upload } from './upload.ts'

interface S3StoreOptions extends S3Options {
  readonly clock: Clock
  readonly maxObjectBytes?: number
  readonly limits?: Partial<S3Limits>
}

/** Keys that are listed at once. */
const PAGE_KEYS = 1_000
/** Pages of a listing: a hundred million keys. */
const MAX_PAGES = 100_000
/** The longest validity that such a service accepts. */
const MAX_URL_LIFE_S = 7 * 24 * 3_600

/** Objects in a bucket of any S3-compatible service. */
export function createS3Store(options: S3StoreOptions): ObjectStore {
  const { clock, maxObjectBytes = MAX_OBJECT_BYTES } = options
  const limits = { ...defaultS3Limits, ...options.limits }
  const client = createS3Client(options, limits)
  return {
    name: `s3 ${options.endpoint} ${options.bucket}`,
    put: async (key, body, { sizeBytes: saidBytes } = {}) => {
      checkObjectKey(key)
      const source = new SourceErrors()
      const chunks = source.watch(boundedBody(body, { maxBytes: maxObjectBytes, saidBytes }))
      await upload(
        client,
        { key, contentType: contentTypeOf(key) },
        chunks,
        limits.partBytes,
      ).catch((error: unknown) => {
        throw source.has(error) ? error : bucketErrorOf(error)
      })
    },
    open: (key, range) => openObject(client, key, range),
    remove: async (key) => {
      checkObjectKey(key)
      await client
        .exchange((s3) => s3.deleteObject(key))
        .catch((error: unknown) => {
          if (!isMissing(error)) throw bucketErrorOf(error)
        })
    },
    list: (prefix, after) => listObjects(client, prefix, after),
    publicUrl: async (key, expiresAtMs) => {
      checkObjectKey(key)
      const lifeS = Math.floor((expiresAtMs - clock.nowMs()) / 1_000)
      return client.presign(key, Math.max(1, Math.min(lifeS, MAX_URL_LIFE_S)))
    },
    close: () => client.close(),
  }
}

/** Distinguishes errors of the body from errors of the service. */
class SourceErrors {
  #thrown: unknown
  #failed = false

  async *watch(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    try {
      yield* chunks
    } catch (error) {
      this.#thrown = error
      this.#failed = true
      throw error
    }
  }

  has(error: unknown): boolean {
    return this.#failed && this.#thrown === error
  }
}

async function openObject(
  client: S3Client,
  key: string,
  range: ByteRange | undefined,
): Promise<OpenedObject | undefined> {
  checkObjectKey(key)
  const { firstByte = 0, lastByte } = range ?? {}
  const end = lastByte === undefined ? undefined : lastByte + 1
  try {
    const response = await client.read((s3) =>
      s3.getObjectRaw(key, range === undefined, firstByte, end),
    )
    const { body } = response
    const answered = sizesOf(response, range === undefined ? undefined : firstByte)
    if (body === null || answered === undefined) {
      await body?.cancel()
      throw new UnusableAnswerError('the service did not say how large the object is')
    }
    const bytes = exactly(body as ReadableStream<Uint8Array>, answered.bodyBytes)
    return {
      body: guardedSource(Readable.from(bytes, { objectMode: false }), bucketErrorOf),
      sizeBytes: answered.objectBytes,
      contentType: contentTypeOf(key),
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw isDomainError(error) ? error : bucketErrorOf(error)
  }
}

/**
 * The number of bytes that an answer announces; undefined if the answer does not match the request.
 */
function sizesOf(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  firstByte: number | undefined,
): { readonly objectBytes: number; readonly bodyBytes: number } | undefined {
  const lengthBytes = Number(headers.get('content-length') ?? Number.NaN)
  if (firstByte === undefined)
    return status === 200 && Number.isSafeInteger(lengthBytes)
      ? { objectBytes: lengthBytes, bodyBytes: lengthBytes }
      : undefined
  const [, first, last, whole] =
    /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(headers.get('content-range') ?? '') ?? []
  if (status !== 206 || Number(first) !== firstByte) return undefined
  return { objectBytes: Number(whole), bodyBytes: Number(last) - firstByte + 1 }
}

/** The keys of a service come in the order of their bytes: so a list has an end. */
async function* listObjects(
  client: S3Client,
  prefix: string,
  after: string | undefined,
): AsyncGenerator<ListedObject, void> {
  let token: string | undefined
  let last = Buffer.from(after ?? '')
  for (let pages = 1; ; pages += 1) {
    const startAfter = after === undefined ? {} : { 'start-after': after }
    const page = await client
      .listPage((s3) => s3.listObjectsPaged('/', prefix, PAGE_KEYS, token, startAfter))
      .catch((error: unknown) => {
        throw bucketErrorOf(error)
      })
    if (page?.objects == null)
      throw bucketErrorOf(Object.assign(new Error('there is no such bucket'), { status: 404 }))
    for (const { Key: key, Size: sizeBytes, LastModified: modified } of page.objects) {
      const bytes = Buffer.from(key)
      if (!key.startsWith(prefix) || Buffer.compare(bytes, last) <= 0)
        throw bucketErrorOf(new UnusableAnswerError('the service lists keys in no order'))
      last = bytes
      yield { key, sizeBytes, modifiedAtMs: modified.getTime() }
    }
    token = page.nextContinuationToken
    if (token === undefined) return
    if (page.objects.length === 0 || pages === MAX_PAGES)
      throw bucketErrorOf(new UnusableAnswerError('the service gives a list that does not end'))
  }
}
