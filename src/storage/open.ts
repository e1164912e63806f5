import type { Clock } from '../kernel/clock.ts'
import { type LocalStore, openLocalStore } from './local/store.ts'
import { createS3Store } from './s3/store.ts'
import type { StorageSettings } from './settings.ts'
import { type NamespacedObjects, namespacedObjects } from './namespaced-objects.ts'
import type { ObjectStore } from './types.ts'

/** The store the operator asked for. */
export interface OpenedStorage {
  /** Undefined: no object storage. */
  readonly objects: NamespacedObjects | undefined
  /** The local store, if the gateway serves objects itself. */
  readonly local: LocalStore | undefined
}

/** @throws if the folder of local objects cannot be used */
export async function openStorage(
  settings: StorageSettings,
  options: {
    readonly directory: string
    readonly secret: string
    readonly baseUrl: () => string | undefined
    readonly clock: Clock
    /** The namespace of the log; the keys of this gateway begin with it. */
    readonly namespace: string
  },
): Promise<OpenedStorage> {
  const named = (place: ObjectStore): NamespacedObjects =>
    namespacedObjects(place, { namespace: options.namespace, startedAtMs: options.clock.nowMs() })
  switch (settings.kind) {
    case 'none':
      return { objects: undefined, local: undefined }
    case 'local': {
      const local = await openLocalStore(options)
      return { objects: named(local), local }
    }
    case 's3':
      return {
        objects: named(createS3Store({ ...settings.s3, clock: options.clock })),
        local: undefined,
      }
  }
}
