import type { Readable } from 'node:stream'

/** Fetching URLs that callers wrote. */

export interface FetchBounds {
  /** The largest body: a larger one is not read to its end. */
  readonly maxBytes: number
  /** Resolving, connecting, redirects and the whole body together. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /**
   * An origin that the operator named, such as that of a channel. Its address is not checked,
   * because the gateway calls it anyway.
   */
  readonly trustedOrigin?: string
}

/**
 * Fetches the bytes of an `https:` or `http:` URL. Every host on the way must be publicly routable,
 * and is connected to at the very address that was checked.
 *
 * @throws FetchFault
 */
export type FetchPublic = (url: string, bounds: FetchBounds) => Promise<Uint8Array>

/** The answer of an opened URL, whatever its status; its body is streamed. */
export interface OpenedUrl {
  readonly status: number
  /** Only the headers that describe the body. */
  readonly headers: Readonly<Partial<Record<BodyHeader, string>>>
  /** A caller that does not read the body to its end must destroy it. */
  readonly body: Readable
}

export const bodyHeaders = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
] as const
type BodyHeader = (typeof bodyHeaders)[number]

/**
 * Opens a URL as a stream of any size.
 *
 * @throws FetchFault before the answer; later the body's stream fails
 */
export type OpenPublic = (
  url: string,
  how: {
    /** The value of a `Range` header. */
    readonly range: string | undefined
    readonly signal: AbortSignal
    readonly firstByteTimeoutMs: number
    readonly idleTimeoutMs: number
    readonly trustedOrigin?: string
  },
) => Promise<OpenedUrl>

/**
 * Sends a body to a URL that a caller wrote, and returns the status: `https:` to a publicly
 * routable host, connected to at the very address that was checked, or where the operator lets the
 * webhooks of this tenant go. A redirect is returned as its status and not followed. @throws FetchFault
 */
export type PostPublic = (
  url: string,
  what: {
    readonly tenantId: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** Resolving, connecting and the status together. */
    readonly timeoutMs: number
    readonly signal: AbortSignal
  },
) => Promise<number>

type FetchFaultReason =
  /** The URL, or one that it redirects to, may not be fetched. */
  | 'not_public'
  | 'too_large'
  | 'timeout'
  | 'aborted'
  /** The URL cannot be read: no connection, a broken one, or a status other than 200. */
  | 'unreachable'

/**
 * Why nothing was fetched; `message` follows the name of the URL in a sentence and does not quote
 * the URL.
 */
export class FetchFault extends Error {
  override readonly name = 'FetchFault'
  readonly reason: FetchFaultReason

  constructor(reason: FetchFaultReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}
