import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import { newSecret } from '../../kernel/ids.ts'
import { owned } from '../../platform/owned.ts'
import { boundedBody, MAX_OBJECT_BYTES } from '../body.ts'
import { checkObjectKey, contentTypeOf } from '../object-key.ts'
import type { ByteRange, ObjectStore, OpenedObject } from '../types.ts'
import { onDisk, writeWhole } from './disk.ts'
import { listFolder } from './listing.ts'
import { findFile, ObjectBytes, WITH_SUMS, withSums } from './object-file.ts'
import { createSignedUrls, type UrlQuery } from './signed-urls.ts'

interface LocalStoreOptions {
  readonly directory: string
  /** The secret that every replica shares; the key that signs URLs is derived from it. */
  readonly secret: string
  /**
   * The beginning of URLs, without a slash at the end; undefined: the gateway has no public
   * address.
   */
  readonly baseUrl: () => string | undefined
  readonly clock: Clock
  readonly maxObjectBytes?: number
}

/** The object of a signed URL. */
interface SignedObject {
  /** File of the object, whose first `sizeBytes` are its content. */
  readonly path: string
  readonly sizeBytes: number
  readonly contentType: string
  /** Bytes of it, only to be piped to a socket; they fail with `storage_unavailable` where they are damaged. */
  readonly read: (start: number, sizeBytes: number) => Readable
}

/** Objects as files of one folder, which the gateway serves itself. */
export interface LocalStore extends ObjectStore {
  /**
   * The object of a signed URL, by its path below `/objects/`; undefined for an expired, forged or malformed one, and where there is none.
   *
   * @throws DomainError `storage_unavailable`
   */
  readonly signedObject: (
    pathBelow: string,
    query: UrlQuery,
    nowMs: number,
  ) => Promise<SignedObject | undefined>
}

/** The folder for unfinished files; no key leads here, because no key begins with a dot. */
const INCOMING = '.incoming'
/**
 * An unfinished file that is older than this was left by a dead process; a younger one may still be
 * written.
 */
const ABANDONED_MS = 24 * 3_600_000
/** @throws when the folder cannot be used */
export async function openLocalStore(options: LocalStoreOptions): Promise<LocalStore> {
  const { directory, maxObjectBytes = MAX_OBJECT_BYTES } = options
  const incoming = join(directory, INCOMING)
  await prepareFolder(directory, incoming, options.clock.nowMs())
  const urls = createSignedUrls(options.secret)
  const pathOf = (key: string): string => {
    checkObjectKey(key)
    return join(directory, key)
  }
  return {
    name: `local ${hostname()} ${directory}`,
    put: async (key, body, { sizeBytes: saidBytes } = {}) => {
      const path = pathOf(key)
      const file = { path: path + WITH_SUMS, beside: join(incoming, newSecret('')) }
      const bytes = boundedBody(body, { maxBytes: maxObjectBytes, saidBytes })
      await writeWhole(file, withSums(file.path, bytes))
      // The file of an earlier release, whose object this one replaces.
      await onDisk(rm(path, { force: true }))
    },
    open: async (key, range) => openObject(pathOf(key), contentTypeOf(key), range),
    remove: async (key) => {
      const path = pathOf(key)
      for (const each of [path, path + WITH_SUMS]) await onDisk(rm(each, { force: true }))
      // A folder with more in it stays.
      await rmdir(dirname(path)).catch(() => undefined)
    },
    list: (prefix, after = '') => listFolder(directory, prefix, after),
    publicUrl: async (key, expiresAtMs) => {
      checkObjectKey(key)
      const base = options.baseUrl()
      return Promise.resolve(base && `${base}${urls.sign(key, expiresAtMs)}`)
    },
    signedObject: async (pathBelow, query, nowMs) => {
      const key = urls.keyOf(pathBelow, query, nowMs)
      if (key === undefined) return undefined
      const found = await findFile(pathOf(key))
      return (
        found && {
          path: found.path,
          sizeBytes: found.sizeBytes,
          contentType: contentTypeOf(key),
          read: (start, sizeBytes) =>
            owned(new ObjectBytes(found, { start, sizeBytes }, { forOneSocket: true })),
        }
      )
    },
    close: () => Promise.resolve(),
  }
}

async function prepareFolder(directory: string, incoming: string, nowMs: number): Promise<void> {
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 })
    await removeAbandoned(incoming, nowMs)
  } catch (error) {
    throw new Error(`${directory} cannot be used for objects: ${String(error)}`, { cause: error })
  }
}

async function removeAbandoned(incoming: string, nowMs: number): Promise<void> {
  const before = nowMs - ABANDONED_MS
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name)
    // Another process may be moving it to its place.
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true })
  }
}

async function openObject(
  path: string,
  contentType: string,
  range: ByteRange | undefined,
): Promise<OpenedObject | undefined> {
  const found = await findFile(path)
  if (found === undefined) return undefined
  const start = range?.firstByte ?? 0
  const end = Math.min((range?.lastByte ?? Infinity) + 1, found.sizeBytes)
  const body = owned(new ObjectBytes(found, { start, sizeBytes: end - start }))
  return { body, sizeBytes: found.sizeBytes, contentType }
}
