import type { TaskKind } from '../../kernel/ids.ts'
import { keyedHash } from '../../kernel/keyed-hash.ts'

/** Names derived with a key that every replica shares (`MARKER_SECRET`). */

/** A rejected attempt frees its key; this many of them and the key is spent. */
export const MAX_ATTEMPTS_PER_KEY = 16
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ULID_LENGTH = 26
const TENANT_PART = 24
const TASK_PART = 32

/**
 * What upstream is told when the caller gave nothing to know a task by: stable per tenant in its
 * first part, unique per task as a whole, meaningless to anyone without the key.
 */
export function markerOf(secret: string, tenantId: string, platformId: string): string {
  const tenant = keyedHash(secret, 'tenant', [tenantId]).toString('hex').slice(0, TENANT_PART)
  const task = keyedHash(secret, 'task', [tenantId, platformId]).toString('hex').slice(0, TASK_PART)
  return `${tenant}${task}`
}

/**
 * The platform id of the n-th attempt under an `Idempotency-Key`: the same on every replica, so
 * that the log's `no_stream` decides who is first.
 */
export function keyedPlatformId(
  secret: string,
  kind: TaskKind,
  key: { readonly tenantId: string; readonly surface: string; readonly key: string },
  attempt: number,
): string {
  const hash = keyedHash(secret, 'idempotency', [
    key.tenantId,
    key.surface,
    key.key,
    String(attempt),
  ])
  let bits = 0n
  for (const byte of hash.subarray(0, 17)) bits = (bits << 8n) | BigInt(byte)
  let id = ''
  for (let index = 0; index < ULID_LENGTH; index += 1) {
    // The first character of a ULID holds three bits only.
    const width = index === ULID_LENGTH - 1 ? 3n : 5n
    id = CROCKFORD.charAt(Number(bits & ((1n << width) - 1n))) + id
    bits >>= width
  }
  return `${kind}_${id}`
}

/** Keyed hash of an `Idempotency-Key`, for the event that records it. */
export function keyHashOf(secret: string, key: string): string {
  return keyedHash(secret, 'idempotency-key', [key]).toString('hex')
}

/** Keyed hash of the caller's body hash: bodies may be guessable, their hashes must not be. */
export function bodyHashOf(secret: string, bodyHash: string): string {
  return keyedHash(secret, 'body', [bodyHash]).toString('hex')
}
