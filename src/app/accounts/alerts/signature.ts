import { Webhook } from 'standardwebhooks'
import { keyedHash } from '../../../kernel/keyed-hash.ts'

const PREFIX = 'whsec_'

/**
 * The secret that signs a tenant's webhooks, in the format of the Standard Webhooks libraries. It
 * is derived from the secret that all replicas share, and stored nowhere.
 */
export function webhookSecret(markerSecret: string, tenantId: string, version: number): string {
  const key = keyedHash(markerSecret, 'webhook', [tenantId, String(version)])
  return `${PREFIX}${key.toString('base64')}`
}

interface SignedMessage {
  /** Id of the webhook, equal for every retry. */
  readonly id: string
  /** Unix seconds: the receiver rejects old messages. */
  readonly timestampS: number
  readonly body: string
}

/** Headers of a message, signed with each of these secrets: a receiver checks any of them. */
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
