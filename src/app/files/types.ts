import type { Readable } from 'node:stream'
import type { FilePurpose } from '../../domain/file/events.ts'
import type { Principal } from '../access/principal.ts'
import type { UploadPlace } from './uploads/quota.ts'

/** A file of a tenant, as the API shows it. */
export interface FileView {
  readonly fileId: string
  readonly purpose: FilePurpose
  /** The uploader's name for it. */
  readonly filename: string
  readonly sizeBytes: number
  readonly uploadedAtMs: number
  /** Undefined: uploaded before files had an expiry. */
  readonly expiresAtMs: number | undefined
}

/** Stored bytes that are no file yet: without a record they are purged. */
export interface KeptBody {
  readonly fileId: string
  readonly sizeBytes: number
  /** Reservation in the tenant's quota. */
  readonly place: UploadPlace
}

export interface OpenedFile {
  readonly file: FileView
  /** The caller must read it to the end or destroy it. */
  readonly body: Readable
}

/** A tenant's file, by its id. */
export interface FileKey {
  readonly principal: Pick<Principal, 'tenantId'>
  readonly fileId: string
}

/**
 * The file use cases. All fail with `storage_not_configured` when there is no storage, and with the
 * codes of the log; another tenant's file is `file_not_found` like a missing one (P8).
 */
export interface FileUseCases {
  /**
   * Stores the bytes of a file as they arrive; its name may come after them. It counts as a request
   * of the token, and in the quota of the tenant.
   * @throws DomainError `storage_unavailable`, `object_too_large`, `log_unavailable`,
   *   `rate_limited`, those of `UploadQuota.take`; what the body throws
   */
  readonly keep: (principal: Principal, body: Readable) => Promise<KeptBody>
  /** Makes stored bytes a file. On failure they are deleted, unless the outcome is unknown. */
  readonly record: (
    kept: KeptBody,
    file: {
      readonly principal: Principal
      readonly requestId: string
      readonly purpose: FilePurpose
      readonly filename: string
    },
  ) => Promise<FileView>
  /** Deletes stored bytes; the purge removes them later if that fails. */
  readonly discard: (kept: KeptBody) => Promise<void>
  readonly find: (key: FileKey) => Promise<FileView>
  /** @throws DomainError `file_not_found`, `storage_unavailable` */
  readonly open: (key: FileKey) => Promise<OpenedFile>
  /** In the order of uploads. @throws DomainError `invalid_request` naming `after` */
  readonly list: (page: {
    readonly principal: Pick<Principal, 'tenantId'>
    readonly purpose: FilePurpose | undefined
    readonly order: 'asc' | 'desc'
    readonly after: string | undefined
    readonly limit: number
  }) => Promise<{ readonly files: readonly FileView[]; readonly hasMore: boolean }>
  /** @throws DomainError `file_not_found`, also for a deleted file */
  readonly remove: (key: {
    readonly principal: Principal
    readonly requestId: string
    readonly fileId: string
  }) => Promise<void>
}
