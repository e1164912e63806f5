import { Webhook } from 'standardwebhooks'
import { keyedHash } from '../../../kernel/keyed-hash.ts'

const PREFIX = 'whsec_'

/**
 * The secret that a tenant's webhooks are signed with, as the libraries of the Standard Webhooks
 * specification take it. It follows from what all replicas share and is kept nowhere.
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
  const sentAt = new Date(timestampS * 1_000)
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, sentAt, body))
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' '),
  }
}
