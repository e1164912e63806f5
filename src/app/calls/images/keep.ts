import { createLookUps } from '../../../eventlog/log/look-ups.ts'
import { buffer } from 'node:stream/consumers'
import { imageMediaType } from '../../../domain/catalog/checks/pictures.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { DomainError, isDomainError } from '../../../kernel/errors.ts'
import { newSecret } from '../../../kernel/ids.ts'
import { withTimeout } from '../../../kernel/pause.ts'
import { RESULT_LIFE_MS, resultKey } from '../../../storage/object-key.ts'
import type { ObjectStore } from '../../../storage/types.ts'
import type { FileDeps } from '../../files/deps.ts'
import { findOwnFile, openOwnFile } from '../../files/own-file.ts'
import type { ImagePlace, KeepImage, OpenImageFile } from './types.ts'

/** Longest wait for all pictures of one call together. */
const LONGEST_KEEP_MS = 60_000
/** A store that failed counts as unavailable this long: its pictures need not be made. */
const AWAY_MS = 2_000

const late = (): DomainError =>
  new DomainError('storage_unavailable', 'Object storage does not answer in time', {})

/** A store that keeps pictures of calls for a day. */
export function createImagePlace(store: ObjectStore, clock: Clock, monotonic: Clock): ImagePlace {
  let awayUntilMs = Number.NEGATIVE_INFINITY

  const put = async (key: string, bytes: Uint8Array, patienceMs: number): Promise<void> => {
    try {
      if (patienceMs <= 0) throw late()
      const kept = store.put(key, bytes, { sizeBytes: bytes.length })
      // A picture stored too late has no URL, and the purge removes it.
      kept.catch(() => undefined)
      await withTimeout(patienceMs, kept, () => {
        throw late()
      })
    } catch (error) {
      if (!isDomainError(error, 'storage_unavailable')) throw error
      awayUntilMs = monotonic.nowMs() + AWAY_MS
      const lost = new DomainError('image_not_kept', 'The image could not be kept', error.details)
      lost.cause = error
      throw lost
    }
  }

  return {
    check: () => {
      if (monotonic.nowMs() < awayUntilMs)
        throw new DomainError('storage_unavailable', 'Object storage failed a moment ago', {})
    },
    open: (longestMs): KeepImage => {
      let leftMs = Math.min(longestMs, LONGEST_KEEP_MS)
      return async (bytes, mediaType) => {
        const nowMs = clock.nowMs()
        const key = resultKey(nowMs, newSecret(''), mediaType)
        const startedMs = monotonic.nowMs()
        try {
          await put(key, bytes, leftMs)
        } finally {
          leftMs -= monotonic.nowMs() - startedMs
        }
        const url = await store.publicUrl(key, nowMs + RESULT_LIFE_MS)
        if (url === undefined)
          throw new DomainError(
            'image_url_not_available',
            'This gateway has no address under which callers can download images',
            {},
          )
        return url
      }
    },
  }
}

/** For a file used as a picture: the same as for one in the request. */
const MAX_FILE_BYTES = 50 * 1024 * 1024

/** Opens files of tenants as pictures. */
export function createOpenImageFile(
  deps: Pick<FileDeps, 'log' | 'store' | 'clock'>,
): OpenImageFile {
  const named = { ...deps, log: createLookUps(deps.log) }
  return async ({ tenantId }, { fileId, param }) => {
    const refuse = (why: string): never => {
      throw new DomainError('invalid_request', `\`${param}\` ${why}`, { param })
    }
    const key = { principal: { tenantId }, fileId }
    const notThere = (error: unknown): never => {
      // Another tenant's file reads like a missing one (P8).
      if (isDomainError(error, 'file_not_found')) refuse('names no file of the tenant')
      throw error
    }
    const { sizeBytes } = await findOwnFile(named, key).catch(notThere)
    if (sizeBytes > MAX_FILE_BYTES)
      refuse(`names a file of more than ${MAX_FILE_BYTES / 1024 / 1024} MiB`)
    const { body } = await openOwnFile(named, key).catch(notThere)
    const bytes = await buffer(body)
    const mediaType =
      imageMediaType(bytes) ?? refuse('names a file that is not a PNG, JPEG or WebP')
    return { from: 'upload', bytes, mediaType }
  }
}
