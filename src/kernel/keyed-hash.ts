import { createHmac } from 'node:crypto'

/** A hash under the key that every replica shares (`MARKER_SECRET`), for a single purpose. */
export function keyedHash(secret: string, purpose: string, parts: readonly string[]): Buffer {
  // JSON keeps the parts apart: no two lists of parts hash the same text.
  return createHmac('sha256', secret)
    .update(JSON.stringify([purpose, ...parts]))
    .digest()
}

/** Keyed hash of an `Idempotency-Key`, as events record it. */
export function keyHashOf(secret: string, key: string): string {
  return keyedHash(secret, 'idempotency-key', [key]).toString('hex')
}

/** Keyed hash of the caller's body hash: a body may be guessable, the recorded hash must not be. */
export function bodyHashOf(secret: string, bodyHash: string): string {
  return keyedHash(secret, 'body', [bodyHash]).toString('hex')
}

/** An `Idempotency-Key` and the hash of its body, as events record them. */
export function idempotencyOf(secret: string, key: string, bodyHash: string) {
  return { keyHash: keyHashOf(secret, key), bodyHash: bodyHashOf(secret, bodyHash) }
}
