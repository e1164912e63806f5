import type { FastifyRequest } from 'fastify'

/** Whether a request brings a form with parts. */
export function isForm(request: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')
}
