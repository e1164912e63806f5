import type { FastifyRequest } from 'fastify'
import { sha256Hex } from '../../kernel/ids.ts'

const bodyHashes = new WeakMap<FastifyRequest, string>()

/** Told by whoever reads a body; `hash` tells it from another one. */
export function rememberBodyHash(request: FastifyRequest, hash: string): void {
  bodyHashes.set(request, hash)
}

/**
 * SHA-256 of the body's bytes as the caller sent them, of a form of its parts, whatever stood between
 * them; of nothing when there was no body.
 */
export function bodyHashOf(request: FastifyRequest): string {
  return bodyHashes.get(request) ?? sha256Hex('')
}
