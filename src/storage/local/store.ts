import { mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { newSecret } from '../../kernel/ids.ts'
import { boundedBody, guardedSource, MAX_OBJECT_BYTES } from '../body.ts'
import { checkObjectKey, contentTypeOf } from '../object-key.ts'
import type { ByteRange, ObjectStore, OpenedObject } from '../types.ts'
import { codeOf, onDisk, toStorageError, writeWhole } from './disk.ts'
import { listFolder } from './listing.ts'
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

/** Objects as files of one folder, which the gateway serves itself. */
export interface LocalStore extends ObjectStore {
  /** The file of a signed URL; undefined for an expired, forged or malformed one. */
  readonly fileOf: (
    key: string,
    query: UrlQuery,
    nowMs: number,
  ) => { readonly path: string; readonly contentType: string } | undefined
}

/** The folder for unfinished files; no key leads here, because no key begins with a dot. */
const INCOMING = '.incoming'
/**
 * An unfinished file that is older than this was left by a dead process; a younger one may still be
 * written.
 */
const ABANDONED_MS = 24 * 3_600_000
/** How much of a file is read at once. */
const READ_BYTES = 256 * 1024

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
      const beside = join(incoming, newSecret(''))
      await writeWhole({ path, beside }, boundedBody(body, { maxBytes: maxObjectBytes, saidBytes }))
    },
    open: async (key, range) => openFile(pathOf(key), contentTypeOf(key), range),
    remove: async (key) => {
      const path = pathOf(key)
      await onDisk(rm(path, { force: true }))
      // A folder with more in it stays.
      await rmdir(dirname(path)).catch(() => undefined)
    },
    list: (prefix, after = '') => listFolder(directory, prefix, after),
    publicUrl: async (key, expiresAtMs) => {
      checkObjectKey(key)
      const base = options.baseUrl()
      return Promise.resolve(base && `${base}${urls.sign(key, expiresAtMs)}`)
    },
    fileOf: (key, query, nowMs) =>
      urls.isValid(key, query, nowMs)
        ? { path: pathOf(key), contentType: contentTypeOf(key) }
        : undefined,
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

async function openFile(
  path: string,
  contentType: string,
  range: ByteRange | undefined,
): Promise<OpenedObject | undefined> {
  let handle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw toStorageError(error)
  }
  const found = await onDisk(handle.stat())
  if (!found.isFile()) {
    await handle.close()
    return undefined
  }
  const source = handle.createReadStream({
    start: range?.firstByte ?? 0,
    ...(range?.lastByte === undefined ? {} : { end: range.lastByte }),
    highWaterMark: READ_BYTES,
  })
  return { body: guardedSource(source, toStorageError), sizeBytes: found.size, contentType }
}
