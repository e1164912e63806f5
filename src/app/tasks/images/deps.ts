import type { FetchPublic } from '../../../kernel/public-fetch.ts'
import type { OpenImageFile } from '../../calls/images/types.ts'
import type { ImageProvider } from '../../ports/images.ts'
import type { UploadQuota } from '../../files/uploads/quota.ts'
import type { TaskDeps } from '../deps.ts'
import { createSealedObjects, type SealedObjects } from '../../../storage/sealed.ts'
import type { ObjectStore } from '../../../storage/types.ts'

/** Where requests wait and results are kept; nothing of either is in the log (P7). */
export interface ImageMedia {
  readonly store: ObjectStore
  /** What was asked, until it is done. */
  readonly payloads: SealedObjects
  /** What callers are shown of a result beside its pictures. */
  readonly results: SealedObjects
}

/** Bounds of asynchronous images (P10). */
export interface ImageTaskLimits {
  /**
   * Tasks that no worker has begun, of all tenants; further ones are turned away. Of one tenant as many may
   * wait as places are left, so that one alone has half of them and there is room for the next.
   */
  readonly maxWaiting: number
  /** Under way in one process: each holds its request and its answer. */
  readonly maxMaking: number
  /** Of those, through one channel, so that none takes all there is. */
  readonly maxMakingAChannel: number
}

export const defaultImageTaskLimits: ImageTaskLimits = {
  maxWaiting: 10_000,
  maxMaking: 16,
  maxMakingAChannel: 8,
}

/** What asynchronous images stand on beside what every task does. */
export interface ImageTaskDeps extends TaskDeps {
  readonly imageProviders: ReadonlyMap<string, ImageProvider>
  readonly openImageFile: OpenImageFile
  readonly fetchPublic: FetchPublic
  /** Undefined: nothing can be kept here. */
  readonly media: ImageMedia | undefined
  readonly imageLimits: ImageTaskLimits
  /** Of what tenants keep: pictures that wait count. */
  readonly quota: UploadQuota
}

/** What is kept for asynchronous images in a store; `secret` is shared by all replicas. */
export function imageMediaIn(store: ObjectStore, secret: string): ImageMedia {
  return {
    store,
    payloads: createSealedObjects(store, secret, 'image-payload'),
    results: createSealedObjects(store, secret, 'image-result'),
  }
}
