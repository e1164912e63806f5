import type { Readable } from 'node:stream'
import type { FilePurpose } from '../../domain/file/events.ts'
import type { Principal } from '../access/principal.ts'
import type { UploadPlace } from './uploads/quota.ts'

/** A file of a tenant, as its API shows it. */
export interface FileView {
  readonly fileId: string
  readonly purpose: FilePurpose
  /** As its uploader calls it. */
  readonly filename: string
  readonly sizeBytes: number
  readonly uploadedAtMs: number
  /** Undefined: of before files had an end. */
  readonly expiresAtMs: number | undefined
}

/** Bytes that are kept and no file yet: what is never recorded is purged. */
export interface KeptBody {
  readonly fileId: string
  readonly sizeBytes: number
  /** Its place in the quota of the tenant. */
  readonly place: UploadPlace
}

export interface OpenedFile {
  readonly file: FileView
  /** Whoever does not read it to the end destroys it. */
  readonly body: Readable
}

/** Whose file, by its id. */
export interface FileKey {
  readonly principal: Pick<Principal, 'tenantId'>
  readonly fileId: string
}

/**
 * What can be done with files. All fail with `storage_not_configured` where there is no storage, and
 * with the codes of the log; another tenant's file is `file_not_found` like one that never was (P8).
 */
export interface FileUseCases {
  /**
   * Keeps the bytes of a file as they come; its name may come after them.
   * It counts as a request of the token, and in the quota of the tenant.
   * @throws DomainError `storage_unavailable`, `object_too_large`, `log_unavailable`, `rate_limited`,
   *   those of `UploadQuota.take`; what the body throws
   */
  readonly keep: (principal: Principal, body: Readable) => Promise<KeptBody>
  /** Makes kept bytes a file. Where that fails they are gone again, unless nobody can say that it did. */
  readonly record: (
    kept: KeptBody,
    file: {
      readonly principal: Principal
      readonly requestId: string
      readonly purpose: FilePurpose
      readonly filename: string
    },
  ) => Promise<FileView>
  /** Lets kept bytes go; what cannot be removed now is purged. */
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
  /** @throws DomainError `file_not_found`, also when it was deleted before */
  readonly remove: (key: {
    readonly principal: Principal
    readonly requestId: string
    readonly fileId: string
  }) => Promise<void>
}
