import type { Readable } from 'node:stream'

/** Fetching URLs that callers wrote. */

export interface FetchBounds {
  /** Of the body: a larger one is not read to its end. */
  readonly maxBytes: number
  /** Resolving, connecting, redirects and the whole body together. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /**
   * An origin the operator named, such as that of a channel: fetching from there reaches nothing
   * that calling it does not, so its address is not checked.
   */
  readonly trustedOrigin?: string
}

/**
 * The bytes a URL leads to, of `https:` or `http:`. Every host on the way must be publicly routable,
 * and is connected to at the very address that was checked.
 *
 * @throws FetchFault
 */
export type FetchPublic = (url: string, bounds: FetchBounds) => Promise<Uint8Array>

/** What an opened URL answers, whatever its status; its body comes as it is read. */
export interface OpenedUrl {
  readonly status: number
  /** Of the headers only those that say what the body is. */
  readonly headers: Readonly<Partial<Record<BodyHeader, string>>>
  /** A caller that does not read it to the end destroys it. */
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
 * The same as it comes, of any size.
 *
 * @throws FetchFault before it answers; the body fails by itself
 */
export type OpenPublic = (
  url: string,
  how: {
    /** Of a `Range` header. */
    readonly range: string | undefined
    readonly signal: AbortSignal
    readonly firstByteTimeoutMs: number
    readonly idleTimeoutMs: number
    readonly trustedOrigin?: string
  },
) => Promise<OpenedUrl>

/**
 * Sends a body to a URL that a caller wrote, and returns the status: `https:` to a publicly
 * routable host, connected to at the very address that was checked, or an origin the operator
 * named. A redirection is a status as any other. @throws FetchFault
 */
export type PostPublic = (
  url: string,
  what: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** Resolving, connecting and the status together. */
    readonly timeoutMs: number
    readonly signal: AbortSignal
  },
) => Promise<number>

type FetchFaultReason =
  /** It is no URL that may be fetched, or leads to one. */
  | 'not_public'
  | 'too_large'
  | 'timeout'
  | 'aborted'
  /** It leads nowhere: no connection, a broken one, or an answer other than 200. */
  | 'unreachable'

/** Why nothing was fetched; `message` goes on after the name of the URL and does not quote it. */
export class FetchFault extends Error {
  override readonly name = 'FetchFault'
  readonly reason: FetchFaultReason

  constructor(reason: FetchFaultReason, message: string, cause?: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}
