import type { Readable } from 'node:stream'

/** A range of an object's bytes: first and last, counted from 0, both included. */
export interface ByteRange {
  readonly firstByte: number
  /** Undefined: to the end. */
  readonly lastByte?: number
}

export interface OpenedObject {
  /**
   * Fails with `storage_unavailable` if it breaks off. A caller that does not read it to the end
   * must destroy it.
   */
  readonly body: Readable
  /** The size of the whole object, even if a range was requested. */
  readonly sizeBytes: number
  /** Media type, which follows from its key. */
  readonly contentType: string
}

export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  readonly modifiedAtMs: number
}

/**
 * A store of media: bytes under a key of `object-key.ts`, which also names their type. Without
 * storage there is no store (undefined), and code that needs one reports it.
 *
 * Every method fails with a `DomainError` of `errors.ts` when the store cannot do it, and with a
 * RangeError if the text is no key.
 */
export interface ObjectStore {
  /** Processes whose stores have the same name share their objects. */
  readonly name: string
  /**
   * Stores an object whole or not at all, durable once this resolves; it replaces an object with
   * the same key. A stream is read once, with a bounded part of it in memory; bytes are not copied.
   * An error of the stream is thrown unchanged.
   *
   * @throws DomainError `object_too_large`, `storage_unavailable`; IncompleteBodyError for a body
   * that differs from its declared length
   */
  readonly put: (
    key: string,
    body: Readable | Uint8Array,
    said?: { readonly sizeBytes?: number },
  ) => Promise<void>
  /** Undefined: there is no such object. @throws DomainError `storage_unavailable` */
  readonly open: (key: string, range?: ByteRange) => Promise<OpenedObject | undefined>
  /** Removes an object; one that does not exist is no failure. */
  readonly remove: (key: string) => Promise<void>
  /** The objects whose keys have this prefix, in the order of keys, after `after`. */
  readonly list: (prefix: string, after?: string) => AsyncIterable<ListedObject>
  /**
   * URL that lets any holder read the object until then; undefined: the store has none. It is a
   * secret (P7). The store does not check that the object exists.
   */
  readonly publicUrl: (key: string, expiresAtMs: number) => Promise<string | undefined>
  readonly close: () => Promise<void>
}
