import type { Readable } from 'node:stream'

/** Bytes of an object by their place, both included and counted from 0. */
export interface ByteRange {
  readonly firstByte: number
  /** Undefined: to the end. */
  readonly lastByte?: number
}

export interface OpenedObject {
  /**
   * Fails with `storage_unavailable` when it breaks off. A caller that does not read it to the end
   * destroys it.
   */
  readonly body: Readable
  /** Of the whole object, also where a range was asked for. */
  readonly sizeBytes: number
  /** As its key says. */
  readonly contentType: string
}

export interface ListedObject {
  readonly key: string
  readonly sizeBytes: number
  readonly modifiedAtMs: number
}

/**
 * Where media lies: bytes under a key of `object-key.ts`, which also says what kind of bytes they
 * are. Without storage there is no store (undefined), and code that needs one reports it.
 *
 * Every method fails with a `DomainError` of `errors.ts` when the store cannot do it, and with a
 * RangeError for what is no key.
 */
export interface ObjectStore {
  /** Two processes with the same name share their objects. */
  readonly name: string
  /**
   * Keeps an object whole or not at all, durable once this resolves; one of that key is replaced.
   * A stream is read once, with a bounded part of it in memory; bytes are not copied. An error of
   * the stream is thrown as it is.
   *
   * @throws DomainError `object_too_large`, `storage_unavailable`; IncompleteBodyError for a body
   * that differs from its declared length
   */
  readonly put: (
    key: string,
    body: Readable | Uint8Array,
    said?: { readonly sizeBytes?: number },
  ) => Promise<void>
  /** Undefined: there is none. @throws DomainError `storage_unavailable` */
  readonly open: (key: string, range?: ByteRange) => Promise<OpenedObject | undefined>
  /** Also of what is not there. */
  readonly remove: (key: string) => Promise<void>
  /** Those whose keys begin like this, in the order of their keys, from the first one past `after`. */
  readonly list: (prefix: string, after?: string) => AsyncIterable<ListedObject>
  /**
   * URL that lets any holder read the object until then; undefined: the store has none. It is a
   * secret (P7). The store does not check that the object exists.
   */
  readonly publicUrl: (key: string, expiresAtMs: number) => Promise<string | undefined>
  readonly close: () => Promise<void>
}
