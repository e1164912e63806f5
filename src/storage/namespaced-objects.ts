import { buffer } from 'node:stream/consumers'
import { RESULTS, resultHourMs } from './object-key.ts'
import type { ListedObject, ObjectStore } from './types.ts'

/**
 * Several gateways may share one bucket or folder. The keys of each begin with its namespace, and one
 * marker object at the root of the namespace names the log whose gateway may purge there. Earlier
 * versions wrote keys without a namespace: those are still read, and purged by evidence alone.
 */
export interface NamespacedObjects {
  /** Adds the namespace to keys of `object-key.ts`, and removes it from listed ones. */
  readonly store: ObjectStore
  /** The underlying store without a namespace. */
  readonly unprefixed: ObjectStore
  /** The marker; undefined if there is none, or it cannot be read. @throws `storage_unavailable` */
  readonly marker: () => Promise<Marker | undefined | 'unreadable'>
  readonly putMarker: (marker: Marker) => Promise<void>
}

/** The content of the marker object of a namespace. */
interface Marker {
  readonly namespace: string
  /** The log to which the objects belong. */
  readonly log: string
  /** Whether that gateway may have objects without a namespace. */
  readonly unprefixed: boolean
  /** Unix milliseconds. */
  readonly claimedAtMs: number
}

const MARKER_NAME = 'owner.json'
const MAX_MARKER_BYTES = 4_096

/**
 * `namespace`: namespace of the log, with its dot. `startedAtMs`: time at which this process began
 * to write.
 */
export function namespacedObjects(
  place: ObjectStore,
  { namespace, startedAtMs }: { readonly namespace: string; readonly startedAtMs: number },
): NamespacedObjects {
  const root = `${namespace}/`
  const isThere = async (key: string): Promise<boolean> => {
    const found = await place.open(key, { firstByte: 0, lastByte: 0 })
    found?.body.destroy()
    return found !== undefined
  }
  /**
   * A release without namespaces may have kept results of the hour in which this process started,
   * or earlier ones.
   */
  const mayBeOlder = (key: string): boolean => {
    const hourMs = key.startsWith(RESULTS) ? resultHourMs(key) : undefined
    return hourMs !== undefined && hourMs <= startedAtMs
  }
  return {
    unprefixed: place,
    store: {
      name: `${place.name} ${namespace}`,
      put: (key, body, said) => place.put(root + key, body, said),
      open: async (key, range) =>
        (await place.open(root + key, range)) ?? (await place.open(key, range)),
      remove: async (key) => {
        await place.remove(root + key)
        await place.remove(key)
      },
      list: (prefix, after) =>
        withoutRoot(
          place.list(root + prefix, after === undefined ? undefined : root + after),
          root,
        ),
      publicUrl: async (key, expiresAtMs) => {
        const isOld = mayBeOlder(key) && !(await isThere(root + key)) && (await isThere(key))
        return place.publicUrl(isOld ? key : root + key, expiresAtMs)
      },
      close: () => place.close(),
    },
    marker: async () => {
      const found = await place.open(root + MARKER_NAME)
      if (found === undefined) return undefined
      if (found.sizeBytes > MAX_MARKER_BYTES) {
        found.body.destroy()
        return 'unreadable'
      }
      return readMarker(await buffer(found.body))
    },
    putMarker: (marker) =>
      place.put(root + MARKER_NAME, Buffer.from(`${JSON.stringify(marker, undefined, 2)}\n`)),
  }
}

async function* withoutRoot(
  listed: AsyncIterable<ListedObject>,
  root: string,
): AsyncGenerator<ListedObject, void> {
  for await (const { key, ...rest } of listed) yield { key: key.slice(root.length), ...rest }
}

function readMarker(bytes: Buffer): Marker | 'unreadable' {
  let said: unknown
  try {
    said = JSON.parse(bytes.toString('utf8'))
  } catch {
    return 'unreadable'
  }
  if (typeof said !== 'object' || said === null) return 'unreadable'
  const { namespace, log, unprefixed, claimedAtMs } = said as Readonly<Record<string, unknown>>
  return typeof namespace === 'string' &&
    typeof log === 'string' &&
    typeof unprefixed === 'boolean' &&
    typeof claimedAtMs === 'number'
    ? { namespace, log, unprefixed, claimedAtMs }
    : 'unreadable'
}
