import type { Clock } from '../kernel/clock.ts'
import { type LocalStore, openLocalStore } from './local/store.ts'
import { createS3Store } from './s3/store.ts'
import type { StorageSettings } from './settings.ts'
import type { ObjectStore } from './types.ts'

/** The store the operator asked for. */
export interface OpenedStorage {
  readonly store: ObjectStore | undefined
  /** The same, where the gateway serves it itself. */
  readonly local: LocalStore | undefined
}

/** @throws when local objects have no folder that can be used */
export async function openStorage(
  settings: StorageSettings,
  ground: {
    readonly directory: string
    readonly secret: string
    readonly baseUrl: () => string | undefined
    readonly clock: Clock
  },
): Promise<OpenedStorage> {
  switch (settings.kind) {
    case 'none':
      return { store: undefined, local: undefined }
    case 'local': {
      const local = await openLocalStore(ground)
      return { store: local, local }
    }
    case 's3':
      return { store: createS3Store({ ...settings.s3, clock: ground.clock }), local: undefined }
  }
}
