import type { FastifyRequest } from 'fastify'

/** What every answer that is no failure has. */
export function succeeded({ id }: FastifyRequest) {
  return { trace_id: id, base_resp: { status_code: 0, status_msg: 'success' } } as const
}
