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
  readonly isValid: (key: string, query: UrlQuery, nowMs: number) => boolean
}

/** Where the gateway serves objects. */
const OBJECTS_PATH = '/objects/'

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
      return `${OBJECTS_PATH}${key}?expires=${expires}&signature=${signatureOf(key, expires)}`
    },
    isValid: (key, { expires, signature }, nowMs) => {
      if (typeof expires !== 'string' || typeof signature !== 'string') return false
      if (!isObjectKey(key) || !/^[1-9]\d{0,11}$/.test(expires)) return false
      const expected = Buffer.from(signatureOf(key, expires))
      const given = Buffer.from(signature)
      const genuine = given.length === expected.length && timingSafeEqual(given, expected)
      return genuine && Number(expires) * 1_000 > nowMs
    },
  }
}
