import { text } from 'node:stream/consumers'
import { Buffer } from 'node:buffer'
import type { ImageSeen } from '../../../domain/catalog/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import { RESULT_LIFE_MS, resultKey } from '../../../storage/object-key.ts'
import type { KeepImage } from '../../calls/images/types.ts'
import { deliver } from '../../calls/images/deliver.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'
import type { Channel } from '../../ports/provider.ts'
import type { ImageAnswer } from '../../ports/images.ts'
import type { ImageMedia, ImageTaskDeps } from './deps.ts'

/**
 * The result of a task in object storage: its pictures, and an encrypted document that names them.
 * The names are derived by a secret key from the task and the time of its success. So a URL can be
 * computed again from the task alone, and the log has no data that leads to a picture (P7).
 */

interface ResultDocument {
  /** In upstream's order: a picture's `url` is its object name. */
  readonly data: readonly JsonObject[]
  readonly shown: JsonObject
}

const DOCUMENT_TYPE = 'application/octet-stream'

function keyOf(secret: string, platformId: string, part: string, atMs: number, type: string) {
  const name = keyedHash(secret, 'image-result', [platformId, part]).toString('base64url')
  return resultKey(atMs, name, type)
}

interface ResultOf {
  readonly platformId: string
  /** Time of success, Unix milliseconds: part of the object names. */
  readonly atMs: number
}

/** An answer and its origin. */
export interface AnsweredImages {
  readonly answer: ImageAnswer
  readonly channel: Channel
}

/**
 * Checks and stores the pictures of an answer; the document last. Returns the usage to settle.
 * @throws as `deliver`, and what `put` throws
 */
export async function keepResult(
  {
    catalog,
    markerSecret,
    fetchPublic,
  }: Pick<ImageTaskDeps, 'catalog' | 'markerSecret' | 'fetchPublic'>,
  { platformId, atMs }: ResultOf,
  { answer, channel }: AnsweredImages,
  model: string,
  { put, putSealed, signal }: KeepingPlace,
): Promise<ImageSeen> {
  let pictures = 0
  const keepImage: KeepImage = async (bytes, mediaType) => {
    const key = keyOf(markerSecret, platformId, String(pictures), atMs, mediaType)
    pictures += 1
    await put(key, bytes)
    return key
  }
  const way = { delivery: 'url', channel, signal, keepImage } as const
  const settlesEach = catalog.imageFamilyOf(model)?.settlesEach === true
  const { body, seen } = await deliver({ fetchPublic }, way, answer, {
    settlesEach,
    nowS: Math.floor(atMs / 1_000),
  })
  const { data, created: _created, ...shown } = body
  const document = Buffer.from(JSON.stringify({ data, shown }))
  await putSealed(keyOf(markerSecret, platformId, 'document', atMs, DOCUMENT_TYPE), document)
  return seen
}

/** Writes objects to the store. */
interface KeepingPlace {
  readonly put: (key: string, bytes: Uint8Array) => Promise<void>
  readonly putSealed: (key: string, bytes: Uint8Array) => Promise<void>
  readonly signal: AbortSignal
}

/** The members of a result that callers see until it expires. */
interface ShownResult {
  readonly data: readonly JsonObject[]
  readonly shown: JsonObject
}

/** Undefined: it has expired. @throws DomainError `storage_unavailable` */
export async function shownResult(
  { markerSecret, clock }: Pick<ImageTaskDeps, 'markerSecret' | 'clock'>,
  { store, results }: ImageMedia,
  { platformId, atMs }: ResultOf,
): Promise<ShownResult | undefined> {
  const expiresAtMs = atMs + RESULT_LIFE_MS
  if (clock.nowMs() >= expiresAtMs) return undefined
  const found = await results.open(keyOf(markerSecret, platformId, 'document', atMs, DOCUMENT_TYPE))
  if (found === undefined) return undefined
  // The gateway sealed it, so it has this shape.
  const document = JSON.parse(await text(found)) as ResultDocument
  const data = await Promise.all(
    document.data.map(async (item): Promise<JsonObject> => {
      const { url: key } = item
      if (typeof key !== 'string') return item
      return { ...item, url: await store.publicUrl(key, expiresAtMs) }
    }),
  )
  return { data, shown: document.shown }
}
