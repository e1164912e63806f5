import { createHmac, timingSafeEqual } from 'node:crypto'
import { deriveKey } from '../../kernel/derived-key.ts'
import { isObjectKey } from '../object-key.ts'

/** The query of an object's URL, unchecked. */
export interface UrlQuery {
  readonly expires?: unknown
  readonly signature?: unknown
}

/** Signed URLs: each is valid until the time in it and for one object only. */
interface SignedUrls {
  /** Path and query. */
  readonly sign: (key: string, expiresAtMs: number) => string
  /** The key of the object that a URL is for; undefined for an expired, forged or malformed one. */
  readonly keyOf: (pathBelow: string, query: UrlQuery, nowMs: number) => string | undefined
}

/** Path under which the gateway serves objects. */
const OBJECTS_PATH = '/objects/'

/**
 * The namespace that a key begins with ends with a dot, which a URL does not have. Keys keep it, so
 * that replicas of an earlier release find each object; a URL of such a release is the key itself.
 */
const pathOf = (key: string): string => key.replace(/^([^/]+)\.\//, '$1/')
const keysOf = (pathBelow: string): readonly string[] => [pathBelow.replace('/', './'), pathBelow]

export function createSignedUrls(secret: string): SignedUrls {
  const urlKey = deriveKey(secret, 'object-url')
  const signatureOf = (key: string, expires: string): string =>
    createHmac('sha256', urlKey)
      .update(JSON.stringify([key, expires]))
      .digest('base64url')
  return {
    sign: (key, expiresAtMs) => {
      // In whole seconds, rounded down so that the URL is never valid for longer than requested.
      const expires = String(Math.floor(expiresAtMs / 1_000))
      return `${OBJECTS_PATH}${pathOf(key)}?expires=${expires}&signature=${signatureOf(key, expires)}`
    },
    keyOf: (pathBelow, { expires, signature }, nowMs) => {
      if (typeof expires !== 'string' || typeof signature !== 'string') return undefined
      if (!/^[1-9]\d{0,11}$/.test(expires) || Number(expires) * 1_000 <= nowMs) return undefined
      const given = Buffer.from(signature)
      return keysOf(pathBelow).find((key) => {
        if (!isObjectKey(key)) return false
        const expected = Buffer.from(signatureOf(key, expires))
        return given.length === expected.length && timingSafeEqual(given, expected)
      })
    },
  }
}
