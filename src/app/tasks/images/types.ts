import type { Cost } from '../../../domain/pricing/settlement.ts'
import type { ImageRequest } from '../../../domain/catalog/image-rules.ts'
import type { JsonObject } from '../../../kernel/json.ts'
import type { RequestQuote } from '../../finance/prices/tenant-prices.ts'
import type { Principal } from '../../access/principal.ts'
import type { CreatedTask } from '../types.ts'

export interface CreateImageTaskInput {
  readonly principal: Principal
  readonly family: string
  readonly surface: string
  readonly requestId: string
  /** External name. */
  readonly model: string
  /** Read by the family of its model. */
  readonly request: ImageRequest
  readonly idempotencyKey: string | undefined
}

/** A task for its tenant; times in Unix milliseconds. */
export type ImageTaskView = {
  readonly platformId: string
  readonly model: string
  readonly createdAtMs: number
} & (
  | { readonly status: 'pending' | 'in_progress' }
  | {
      readonly status: 'completed'
      readonly completedAtMs: number
      /** The settled amount; undefined while it cannot be read. */
      readonly cost?: Cost | undefined
      /** After this no more URLs are given out. */
      readonly expiresAtMs: number
      /** `{url, …}` of each picture, or `{error}` of one not made; empty once expired. */
      readonly data: readonly JsonObject[]
      /** Members that the model service returned in addition to the pictures, e.g. `usage`. */
      readonly shown: JsonObject
    }
  | {
      readonly status: 'failed'
      readonly error: { readonly code: string; readonly message: string }
    }
)

export interface ImageTaskUseCases {
  /**
   * Domain error codes: those of `CreateTask` except the provider's, `n_not_supported`,
   * `storage_not_configured`, `storage_unavailable`, and `rate_limited` when too many are waiting.
   */
  readonly create: (input: CreateImageTaskInput) => Promise<CreatedTask>
  /** Codes: `task_not_found` (also for another tenant's), `storage_unavailable`. */
  readonly get: (input: {
    readonly principal: Principal
    readonly id: string
  }) => Promise<ImageTaskView>
  /** Prices a task as `create` would, and does nothing else. */
  readonly quote: (
    order: Pick<CreateImageTaskInput, 'principal' | 'family' | 'model' | 'request'>,
  ) => Promise<RequestQuote>
}
