import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

/** A key for a single purpose, derived from the secret that every replica shares (HKDF-SHA-256). */
export function deriveKey(
  secret: string,
  purpose: string,
  salt: Uint8Array = new Uint8Array(),
): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, KEY_BYTES))
}
