import type { FetchPublic } from '../../../kernel/public-fetch.ts'
import type { OpenImageFile } from '../../calls/images/types.ts'
import type { ImageProvider } from '../../ports/images.ts'
import type { UploadQuota } from '../../files/uploads/quota.ts'
import type { TaskDeps } from '../deps.ts'
import { createSealedObjects, type SealedObjects } from '../../../storage/sealed-objects.ts'
import type { ObjectStore } from '../../../storage/types.ts'

/** Storage of requests and results; the log has neither (P7). */
export interface ImageMedia {
  readonly store: ObjectStore
  /** Requests, until their tasks end. */
  readonly payloads: SealedObjects
  /** Members of a result that callers see in addition to its pictures. */
  readonly results: SealedObjects
}

/** Bounds of asynchronous images (P10). */
export interface ImageTaskLimits {
  /**
   * Maximum number of tasks that no worker has begun, of all tenants; further ones are refused. One
   * tenant may have as many waiting as free places remain, so it takes at most half of them and
   * leaves room for others.
   */
  readonly maxWaiting: number
  /** Tasks being made in one process: each holds its request and its answer. */
  readonly maxMaking: number
  /** The most of those through one channel, so that no channel takes all places. */
  readonly maxMakingAChannel: number
}

export const defaultImageTaskLimits: ImageTaskLimits = {
  maxWaiting: 10_000,
  maxMaking: 16,
  maxMakingAChannel: 8,
}

/** The dependencies of asynchronous images, in addition to those of every task. */
export interface ImageTaskDeps extends TaskDeps {
  readonly imageProviders: ReadonlyMap<string, ImageProvider>
  readonly openImageFile: OpenImageFile
  readonly fetchPublic: FetchPublic
  /** Undefined: there is no storage. */
  readonly media: ImageMedia | undefined
  readonly imageLimits: ImageTaskLimits
  /** Quota of a tenant's storage: pictures of waiting tasks count. */
  readonly quota: UploadQuota
}

/** Storage of asynchronous images in a store; all replicas share `secret`. */
export function imageMediaIn(store: ObjectStore, secret: string): ImageMedia {
  return {
    store,
    payloads: createSealedObjects(store, secret, 'image-payload'),
    results: createSealedObjects(store, secret, 'image-result'),
  }
}
