import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RepeatFacts } from '../../../domain/repeat-facts.ts'
import { keyedHash } from '../../../kernel/keyed-hash.ts'

/** Facts of a request that show whether it was sent again, read where its body is bytes. */

/** Characters of base64url, of six bits each. */
const FINGERPRINT_CHARACTERS = 11
/** The bytes at each end of a body that are hashed: a long body costs no more than these. */
const END_BYTES = 4 * 1024
/** Bytes for the name of a tenant and the length; a longer name is cut. */
const HEAD_BYTES = 1024

/**
 * The fingerprint of a body of a tenant: equal for equal bodies. Without the secret no prompt can be
 * guessed from it, and one tenant cannot compare it with another's (P7).
 */
export type FingerprintOf = (tenantId: string, body: Uint8Array) => string

/** Derives the key once: each body costs one hash. */
export function createFingerprintOf(secret: string): FingerprintOf {
  const key = keyedHash(secret, 'body-fingerprint', [])
  // Used again for each body, because a hash of one piece costs half as much as one of four.
  const hashed = Buffer.alloc(key.length + HEAD_BYTES + 2 * END_BYTES)
  key.copy(hashed)
  return (tenantId, body) => {
    const head = `${tenantId}\n${body.length}\n`
    let at = key.length + hashed.write(head, key.length, HEAD_BYTES)
    for (const end of endsOf(body)) {
      hashed.set(end, at)
      at += end.length
    }
    return hash('sha256', hashed.subarray(0, at), 'base64url').slice(0, FINGERPRINT_CHARACTERS)
  }
}

/** A short body whole; the first and the last bytes of a longer one. */
function endsOf(body: Uint8Array): readonly Uint8Array[] {
  if (body.length <= 2 * END_BYTES) return [body]
  return [body.subarray(0, END_BYTES), body.subarray(-END_BYTES)]
}

/** Hash of the ends of a file of a form, in hexadecimal. */
export function hashOfEnds(file: Uint8Array): string {
  const ends = endsOf(file)
  return hash('sha256', ends.length === 1 ? file : Buffer.concat(ends), 'hex')
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined outside of `useFingerprints`. */
    readonly fingerprintOf: FingerprintOf | undefined
  }
  interface FastifyRequest {
    bodyFingerprint: string | undefined
  }
}

/** Bodies of requests with a token have fingerprints below this plugin. */
export function useFingerprints(app: FastifyInstance, fingerprintOf: FingerprintOf): void {
  app.decorate('fingerprintOf', fingerprintOf)
  if (!app.hasRequestDecorator('bodyFingerprint')) app.decorateRequest('bodyFingerprint', undefined)
}

/** The reader of a body calls this once, with its bytes as they were sent. */
export function rememberFingerprint(request: FastifyRequest, body: Uint8Array): void {
  const { principal, server } = request
  if (principal === undefined || server.fingerprintOf === undefined) return
  request.bodyFingerprint = server.fingerprintOf(principal.tenantId, body)
}

/** A larger number is no count of retries. */
const retryCount = /^[1-9]\d{0,2}$/

/**
 * The facts about a request, once its body was read. Libraries of callers count their retries in a
 * header; a malformed one is ignored, because a paid request must not be refused for it.
 */
export function repeatFactsOf({
  bodyFingerprint,
  headers,
}: Pick<FastifyRequest, 'bodyFingerprint' | 'headers'>): { readonly repeat: RepeatFacts } {
  const retry = headers['x-stainless-retry-count']
  return {
    repeat: {
      ...(bodyFingerprint === undefined ? {} : { bodyFingerprint }),
      ...(typeof retry === 'string' && retryCount.test(retry) ? { retry: Number(retry) } : {}),
    },
  }
}
