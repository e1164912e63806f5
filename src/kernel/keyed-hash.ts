import { createHmac } from 'node:crypto'

/** A hash under the key that every replica shares (`MARKER_SECRET`), for a single purpose. */
export function keyedHash(secret: string, purpose: string, parts: readonly string[]): Buffer {
  // JSON keeps the parts apart: no two lists of parts hash the same text.
  return createHmac('sha256', secret)
    .update(JSON.stringify([purpose, ...parts]))
    .digest()
}
