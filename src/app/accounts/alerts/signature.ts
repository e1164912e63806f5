import { createHmac } from 'node:crypto'
import { keyedHash } from '../../../kernel/keyed-hash.ts'

/**
 * Webhooks are signed as the Standard Webhooks specification has it: HMAC-SHA256 over
 * `id.timestamp.body`, which its libraries check in most languages.
 */

const PREFIX = 'whsec_'

/**
 * The secret that a tenant's webhooks are signed with, as its libraries take it. It follows from what all
 * replicas share and is kept nowhere.
 */
export function webhookSecret(markerSecret: string, tenantId: string, version: number): string {
  const key = keyedHash(markerSecret, 'webhook', [tenantId, String(version)])
  return `${PREFIX}${key.toString('base64')}`
}

export interface SignedMessage {
  /** The same for whatever is sent again. */
  readonly id: string
  /** Unix seconds: who receives it refuses what is old. */
  readonly timestampS: number
  readonly body: string
}

/** Headers of a message, signed with each of these secrets: who knows one of them can check it. */
export function signedHeaders(
  { id, timestampS, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    const signature = createHmac('sha256', key).update(`${id}.${timestampS}.${body}`)
    return `v1,${signature.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' '),
  }
}
