import { createHash } from 'node:crypto'

const MAX_HASHES = 1000
const hashes = new Map<string, string>()

/** The start of a credential's hash: tells accounts apart without keeping what they are opened with. */
export function credentialHash(credential: string): string {
  const known = hashes.get(credential)
  if (known !== undefined) return known
  const hash = createHash('sha256').update(credential).digest('hex').slice(0, 12)
  if (hashes.size < MAX_HASHES) hashes.set(credential, hash)
  return hash
}
